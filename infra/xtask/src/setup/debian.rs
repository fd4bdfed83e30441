//! Debian's packages, installed as root.

use std::fs;
use std::path::Path;
use std::sync::Once;

use crate::cargo::{find, program, run};
use crate::error::{Context, Result};
use crate::say;

const CLUSTER_SETTINGS: &str = "/etc/postgresql-common/createcluster.conf";

/// Installs packages. Servers they would start at the usual ports stay off.
pub(super) fn install(packages: &[&str]) -> Result<()> {
    say::step(format_args!("installing {} with apt-get", packages.join(", ")));
    if packages.contains(&"postgresql") {
        refuse_main_cluster(Path::new(CLUSTER_SETTINGS))?;
    }
    update()?;
    let mut command = program("apt-get");
    // The settings file above is ours and stays.
    command.args(["install", "-y", "-q", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold"]);
    run(command.args(packages).env("DEBIAN_FRONTEND", "noninteractive"))?;
    if packages.contains(&"nats-server") {
        stop("nats-server");
    }
    Ok(())
}

/// Reads the lists of packages, once.
fn update() -> Result<()> {
    static ONCE: Once = Once::new();
    let mut result = Ok(());
    ONCE.call_once(|| result = run(program("apt-get").args(["update", "-q"])));
    result
}

/// Debian makes a cluster at port 5432 by itself, unless told not to.
fn refuse_main_cluster(file: &Path) -> Result<()> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let is_other = |line: &&str| !line.trim_start().starts_with("create_main_cluster");
    let mut lines: Vec<_> = text.lines().filter(is_other).collect();
    lines.push("create_main_cluster = false");
    let folder = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(file, lines.join("\n") + "\n"))
        .context(format_args!("writing {}", file.display()))
}

/// Stops a server that the package started and keeps it off; there may be no service manager at all.
fn stop(service: &str) {
    let commands: [(&str, &[&str]); 3] = [
        ("systemctl", &["disable", "--now", "--quiet", service]),
        ("update-rc.d", &[service, "disable"]),
        ("service", &[service, "stop"]),
    ];
    for (name, arguments) in commands {
        if find(name).is_some() {
            // It may not run, or systemd may not: then there is nothing to stop.
            let _ = program(name).args(arguments).output();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::scratch::Scratch;

    #[test]
    fn no_cluster_is_made_and_other_settings_stay() {
        let folder = Scratch::new().expect("a folder");
        let file = folder.path().join("deep/createcluster.conf");
        refuse_main_cluster(&file).expect("a new file");
        assert_eq!(fs::read_to_string(&file).expect("text"), "create_main_cluster = false\n");
        fs::write(&file, "ssl = on\n create_main_cluster = true\n").expect("write");
        refuse_main_cluster(&file).expect("an old file");
        assert_eq!(fs::read_to_string(&file).expect("text"), "ssl = on\ncreate_main_cluster = false\n");
    }
}
