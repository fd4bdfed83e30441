//! Networks: CIDR ranges of IPv4 and IPv6 addresses.
//!
//! The two families never meet. An address that IPv6 writes for an IPv4 host (`::ffff:8.8.8.8`) is read as the IPv4
//! address, so `8.8.8.8` is in no IPv6 network, `::/0` included, and a network inside `::ffff:0:0/96` is refused, since
//! nothing could ever be in it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use crate::compare::shown;

/// How many bits of an IPv4-mapped IPv6 address come before the IPv4 address.
const MAPPED_BITS: u32 = 96;

/// Why a text is not a network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// Neither an address nor one with a prefix length.
    #[error("'{0}' is not a network: write one such as 10.0.0.0/8 or 2001:db8::/32, or an IP address")]
    Unreadable(String),
    /// More bits than the address has.
    #[error("'{text}' has a prefix of more than {bits} bits, which is all that an {family} address has")]
    PrefixTooLong {
        /// The network, cut.
        text: String,
        /// How many would be right at most.
        bits: u32,
        /// IPv4 or IPv6.
        family: &'static str,
    },
    /// Bits behind the prefix, so that a network and a single address could be meant.
    #[error("'{text}' has host bits set; write {network} or {host}")]
    HostBits {
        /// The network, cut.
        text: String,
        /// The network without those bits.
        network: Network,
        /// The single address.
        host: Network,
    },
    /// Inside `::ffff:0:0/96`.
    #[error("'{text}' maps IPv4 into IPv6; write it as the IPv4 network {network}")]
    Mapped {
        /// The network, cut.
        text: String,
        /// The same in IPv4.
        network: Network,
    },
}

/// Addresses that begin with the same bits; a single address is such a network too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The lowest address.
    address: IpAddr,
    prefix: u32,
}

impl Network {
    /// Reads an address, alone or with `/` and a prefix length behind which no bit is set.
    pub fn parse(text: &str) -> Result<Self, NetworkError> {
        let unreadable = || NetworkError::Unreadable(shown(text));
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| unreadable())?;
        let bits = bits_of(address);
        let prefix = match prefix {
            None => bits,
            Some(digits) if is_number(digits) => digits.parse().unwrap_or(u32::MAX),
            Some(_) => return Err(unreadable()),
        };
        if prefix > bits {
            let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
            return Err(NetworkError::PrefixTooLong { text: shown(text), bits, family });
        }
        // Seen as IPv4 where it is IPv4, so that what the error suggests can be saved.
        let host = Self::host(address.to_canonical());
        let is_mapped = host.address != address && prefix >= MAPPED_BITS;
        let written = if is_mapped { (host.address, prefix - MAPPED_BITS) } else { (address, prefix) };
        let network = Self { address: lowest(written.0, written.1), prefix: written.1 };
        if network.address != written.0 {
            return Err(NetworkError::HostBits { text: shown(text), network, host });
        }
        if is_mapped {
            return Err(NetworkError::Mapped { text: shown(text), network });
        }
        Ok(network)
    }

    fn host(address: IpAddr) -> Self {
        Self { address, prefix: bits_of(address) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

fn is_number(digits: &str) -> bool {
    let is_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && (digits == "0" || !digits.starts_with('0'))
}

fn bits_of(address: IpAddr) -> u32 {
    if address.is_ipv4() { Ipv4Addr::BITS } else { Ipv6Addr::BITS }
}

/// The bits behind a prefix, set.
fn host_mask(bits: u32, prefix: u32) -> u128 {
    u128::MAX.checked_shr(u128::BITS - (bits - prefix)).unwrap_or(0)
}

/// The lowest address with the same prefix.
fn lowest(address: IpAddr, prefix: u32) -> IpAddr {
    let host = host_mask(bits_of(address), prefix);
    match address {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & !(host as u32)).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !host).into(),
    }
}

/// Reads an attribute as an address: only the address itself, without port, zone, brackets or blanks.
///
/// An IPv4-mapped IPv6 address is read as the IPv4 address it stands for.
pub fn address(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// What any of many networks contains.
#[derive(Clone, Debug)]
pub struct Networks {
    /// First and last addresses, ascending, with gaps between.
    v4: Box<[(u32, u32)]>,
    /// The same for IPv6.
    v6: Box<[(u128, u128)]>,
}

impl Networks {
    /// Whether an address lies in any of the networks.
    pub fn contains(&self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(address) => is_in(&self.v4, address.to_bits()),
            IpAddr::V6(address) => is_in(&self.v6, address.to_bits()),
        }
    }
}

impl FromIterator<Network> for Networks {
    fn from_iter<I: IntoIterator<Item = Network>>(networks: I) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for Network { address, prefix } in networks {
            let host = host_mask(bits_of(address), prefix);
            match address {
                IpAddr::V4(first) => v4.push((first.to_bits(), first.to_bits() | host as u32)),
                IpAddr::V6(first) => v6.push((first.to_bits(), first.to_bits() | host)),
            }
        }
        Self { v4: joined(v4, |last| last.checked_add(1)), v6: joined(v6, |last| last.checked_add(1)) }
    }
}

fn is_in<T: Ord + Copy>(ranges: &[(T, T)], address: T) -> bool {
    let end = ranges.partition_point(|(first, _)| *first <= address);
    ranges[..end].last().is_some_and(|(_, last)| address <= *last)
}

/// The same addresses as ascending ranges that neither overlap nor touch.
fn joined<T: Ord + Copy>(mut ranges: Vec<(T, T)>, next: impl Fn(T) -> Option<T>) -> Box<[(T, T)]> {
    ranges.sort_unstable();
    let mut joined: Vec<(T, T)> = Vec::new();
    for (first, last) in ranges {
        match joined.last_mut() {
            Some((_, end)) if next(*end).is_none_or(|next| first <= next) => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    joined.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn networks(texts: &[&str]) -> Networks {
        texts.iter().map(|text| Network::parse(text).unwrap_or_else(|error| panic!("{error}"))).collect()
    }

    fn holds(texts: &[&str], attribute: &str) -> bool {
        networks(texts).contains(address(attribute).unwrap_or_else(|| panic!("'{attribute}' is an address")))
    }

    #[test]
    fn an_address_is_in_the_networks_of_its_family() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", &["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3"][..], &["9.255.255.255", "11.0.0.0"][..]),
            ("10.0.0.1", &["10.0.0.1"], &["10.0.0.0", "10.0.0.2"]),
            ("0.0.0.0/0", &["0.0.0.0", "255.255.255.255", "::ffff:8.8.8.8"], &["::", "2001:db8::1", "::8.8.8.8"]),
            ("255.255.255.255/32", &["255.255.255.255"], &["255.255.255.254"]),
            ("2001:db8::/32", &["2001:db8::1", "2001:DB8:ffff::"], &["2001:db9::", "10.0.0.1"]),
            ("2001:DB8:0::1", &["2001:db8::1"], &["2001:db8::2"]),
            ("::/0", &["::", "::1", "ffff::"], &["8.8.8.8", "::ffff:8.8.8.8"]),
            ("::1/128", &["::1"], &["::2", "127.0.0.1"]),
        ] {
            inside.iter().for_each(|address| assert!(holds(&[network], address), "{address} is in {network}"));
            outside.iter().for_each(|address| assert!(!holds(&[network], address), "{address} is not in {network}"));
        }
    }

    #[test]
    fn any_of_several_networks_is_enough() {
        assert!(holds(&["10.0.0.0/8", "127.0.0.1"], "127.0.0.1"));
        assert!(holds(&["10.0.0.0/9", "10.128.0.0/9", "10.3.0.0/16", "::1"], "10.200.0.1"));
        assert!(!holds(&[], "127.0.0.1"));
        assert_eq!(networks(&["10.128.0.0/9", "10.0.0.0/9", "10.3.0.0/16"]).v4.len(), 1);
        assert_eq!(networks(&["0.0.0.0/0", "255.255.255.255", "::/0", "ffff::/16"]).v6.len(), 1);
    }

    #[test]
    fn host_bits_are_refused_with_what_may_have_been_meant() {
        for (text, network, host) in [
            ("10.0.0.1/8", "10.0.0.0/8", "10.0.0.1/32"),
            ("1.2.3.4/0", "0.0.0.0/0", "1.2.3.4/32"),
            ("2001:db8::1/32", "2001:db8::/32", "2001:db8::1/128"),
            ("::ffff:10.0.0.1/104", "10.0.0.0/8", "10.0.0.1/32"),
            ("::ffff:0:0/90", "::ffc0:0:0/90", "0.0.0.0/32"),
        ] {
            let message = Network::parse(text).expect_err(text).to_string();
            assert_eq!(message, format!("'{text}' has host bits set; write {network} or {host}"));
            assert!(Network::parse(network).is_ok() && Network::parse(host).is_ok());
        }
    }

    #[test]
    fn a_prefix_longer_than_the_address_is_refused() {
        let message = |text| Network::parse(text).expect_err(text).to_string();
        let expected = "'10.0.0.0/33' has a prefix of more than 32 bits, which is all that an IPv4 address has";
        assert_eq!(message("10.0.0.0/33"), expected);
        assert!(message("::/129").contains("128 bits"));
        assert!(message("::/99999999999999999999").contains("128 bits"));
    }

    #[test]
    fn ipv4_written_as_ipv6_is_refused_with_the_ipv4_network() {
        for (text, network) in [
            ("::ffff:0:0/96", "0.0.0.0/0"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:8.8.8.8", "8.8.8.8/32"),
            ("::FFFF:808:808/128", "8.8.8.8/32"),
        ] {
            let message = Network::parse(text).expect_err(text).to_string();
            assert!(message.starts_with(&format!("'{text}'")) && message.ends_with(network), "{message}");
        }
        assert!(Network::parse("::ffff:0:0:0/96").is_ok(), "another block");
    }

    #[test]
    fn what_is_no_network_is_refused_by_name() {
        let unreadable = "/ localhost 10.0.0.0/ /8 10.0.0.0/+8 10.0.0.0/08 10.0.0.0/8/8 10.0.0.0/255.0.0.0 10.0.0/8 \
             10/8 010.0.0.0/8 10.0.0.256 ::1:: fe80::%eth0/64 [::1] 10.0.0.* 10.0.0.0-10.0.0.9 \
             １0.0.0.0/8";
        for text in unreadable.split(' ').chain(["", "10.0.0.0 /8", " 10.0.0.0/8"]) {
            let message = Network::parse(text).expect_err(text).to_string();
            assert!(message.starts_with(&format!("'{text}' is not a network")), "{message}");
        }
    }

    #[test]
    fn only_a_bare_address_is_read_from_an_attribute() {
        let unreadable = "localhost 10.0.0.1:80 [::1] [::1]:80 fe80::1%eth0 10.0.0.1/32 1 010.0.0.1";
        for text in unreadable.split(' ').chain(["", " ::1"]) {
            assert_eq!(address(text), None, "{text}");
        }
        assert_eq!(address("::ffff:8.8.8.8"), address("8.8.8.8"));
        assert_eq!(address("::FFFF:0808:0808"), address("8.8.8.8"));
        assert_eq!(address("2001:DB8:0::1"), address("2001:db8::1"));
    }

    #[test]
    fn ten_thousand_networks_are_searched_not_walked() {
        let texts: Vec<String> = (0..10_000).map(|n| format!("10.{}.{}.0/25", n / 256, n % 256)).collect();
        let networks: Networks = texts.iter().map(|text| Network::parse(text).expect("a network")).collect();
        assert_eq!(networks.v4.len(), 10_000);
        assert!(networks.contains(address("10.39.15.127").expect("an address")));
        assert!(!networks.contains(address("10.39.15.128").expect("an address")));
    }

    /// Few distinct bits at both ends of the address, so that networks meet.
    fn written(is_v6: bool, high: u8, low: u8, prefix: u32) -> String {
        if is_v6 {
            format!("{:x}::{low:x}/{}", u16::from(high) << 8, prefix * 4)
        } else {
            format!("{high}.0.0.{low}/{prefix}")
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in ".*", looks_right in r"[0-9a-f:.%/ ]{0,20}") {
            let _ = (Network::parse(&text), Network::parse(&looks_right));
            let _ = (address(&text), address(&looks_right));
        }

        #[test]
        fn many_networks_hold_what_any_of_them_holds(
            parts in prop::collection::vec((any::<bool>(), 0..4_u8, 0..16_u8, 0..33_u32), 0..12),
            addresses in prop::collection::vec((any::<bool>(), 0..4_u8, any::<u8>()), 20),
        ) {
            let networks: Vec<Network> = parts
                .into_iter()
                .filter_map(|(is_v6, high, low, prefix)| match Network::parse(&written(is_v6, high, low, prefix)) {
                    Ok(network) | Err(NetworkError::HostBits { network, .. }) => Some(network),
                    Err(_) => None,
                })
                .collect();
            let joined: Networks = networks.iter().copied().collect();
            for (is_v6, high, low) in addresses {
                let text = written(is_v6, high, low, 0);
                let one = address(text.trim_end_matches("/0")).expect("an address");
                // Compared as binary digits, which shares nothing with the masks.
                let digits = |address: IpAddr| match address {
                    IpAddr::V4(v4) => format!("4{:032b}", v4.to_bits()),
                    IpAddr::V6(v6) => format!("6{:0128b}", v6.to_bits()),
                };
                let is_in = |network: &Network| {
                    digits(one).starts_with(&digits(network.address)[..=network.prefix as usize])
                };
                prop_assert_eq!(joined.contains(one), networks.iter().any(is_in), "{}", one);
            }
        }
    }
}
