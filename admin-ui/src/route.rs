//! Every address in the app as a typed enum that knows its link.
//!
//! Parameters are percent-encoded one by one, so a flag key that holds `/` stays one segment of the path.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What need not be encoded in a segment or a query value.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// Leads to the only project, or to the list of them.
    Root,
    /// First run.
    Setup,
    /// Signing in.
    SignIn,
    /// All projects I may see.
    Projects,
    /// A project; leads to its flags.
    Project { project: String },
    /// The flags of a project.
    Flags { project: String },
    /// Making a flag.
    NewFlag { project: String },
    /// One flag.
    Flag { project: String, flag: String },
    /// The SDK keys of a project.
    Keys { project: String },
    /// The edges of the installation.
    Edges,
}

impl Route {
    /// The page at a path; `None` when there is none.
    pub fn parse(path: &str) -> Option<Self> {
        let segments: Option<Vec<String>> = path.trim_matches('/').split('/').map(decode).collect();
        let segments = segments?;
        let text: Vec<&str> = segments.iter().map(String::as_str).collect();
        Some(match text.as_slice() {
            [""] => Self::Root,
            ["setup"] => Self::Setup,
            ["sign-in"] => Self::SignIn,
            ["projects"] => Self::Projects,
            ["edges"] => Self::Edges,
            ["p", project] => Self::Project { project: (*project).into() },
            ["p", project, "flags"] => Self::Flags { project: (*project).into() },
            ["p", project, "new-flag"] => Self::NewFlag { project: (*project).into() },
            ["p", project, "flags", flag] => Self::Flag { project: (*project).into(), flag: (*flag).into() },
            ["p", project, "keys"] => Self::Keys { project: (*project).into() },
            _ => return None,
        })
    }

    /// Its address without a query.
    pub fn link(&self) -> String {
        match self {
            Self::Root => "/".into(),
            Self::Setup => "/setup".into(),
            Self::SignIn => "/sign-in".into(),
            Self::Projects => "/projects".into(),
            Self::Edges => "/edges".into(),
            Self::Project { project } => format!("/p/{}", encode(project)),
            Self::Flags { project } => format!("/p/{}/flags", encode(project)),
            Self::NewFlag { project } => format!("/p/{}/new-flag", encode(project)),
            Self::Flag { project, flag } => format!("/p/{}/flags/{}", encode(project), encode(flag)),
            Self::Keys { project } => format!("/p/{}/keys", encode(project)),
        }
    }

    /// Its address with one query parameter.
    pub fn link_with(&self, name: &str, value: &str) -> String {
        format!("{}{}", self.link(), Query::default().with(name, Some(value)))
    }

    /// The project it belongs to.
    pub fn project(&self) -> Option<&str> {
        match self {
            Self::Project { project }
            | Self::Flags { project }
            | Self::NewFlag { project }
            | Self::Flag { project, .. }
            | Self::Keys { project } => Some(project),
            Self::Root | Self::Setup | Self::SignIn | Self::Projects | Self::Edges => None,
        }
    }

    /// The same section in another project.
    pub fn in_project(&self, project: &str) -> Self {
        let project = project.to_owned();
        match self {
            Self::Keys { .. } => Self::Keys { project },
            _ => Self::Flags { project },
        }
    }
}

/// The part of an address after `?`: page state such as environment, filter and open layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what stands after the `?`; the first of doubled names wins.
    pub fn parse(search: &str) -> Self {
        let pairs = search.trim_start_matches('?').split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .filter_map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    Some((decode(&name.replace('+', " "))?, decode(&value.replace('+', " "))?))
                })
                .collect(),
        )
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The same with one parameter set, or removed by `None`.
    pub fn with(mut self, name: &str, value: Option<&str>) -> Self {
        match (self.0.iter().position(|(known, _)| known == name), value) {
            (Some(at), Some(value)) => self.0[at].1 = value.into(),
            (Some(at), None) => drop(self.0.remove(at)),
            (None, Some(value)) => self.0.push((name.into(), value.into())),
            (None, None) => {}
        }
        self
    }
}

impl std::fmt::Display for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (name, value)) in self.0.iter().enumerate() {
            write!(f, "{}{}={}", if at == 0 { '?' } else { '&' }, encode(name), encode(value))?;
        }
        Ok(())
    }
}

/// A text as one segment of a path or one value of a query.
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

fn decode(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_survives_a_round_trip() {
        let project = || "shop".to_owned();
        let routes = [
            Route::Root,
            Route::Setup,
            Route::SignIn,
            Route::Projects,
            Route::Edges,
            Route::Project { project: project() },
            Route::Flags { project: project() },
            Route::NewFlag { project: project() },
            Route::Flag { project: project(), flag: "team:checkout/theme.v2".into() },
            Route::Keys { project: project() },
        ];
        for route in routes {
            assert_eq!(Route::parse(&route.link()), Some(route.clone()), "{}", route.link());
        }
        assert_eq!(Route::parse("/p/shop/flags/a/b"), None);
    }

    #[test]
    fn a_query_keeps_every_character_of_its_values() {
        let query = Query::default().with("q", Some("50 % & %41=ü")).with("env", Some("production"));
        assert_eq!(Query::parse(&query.to_string()), query);
        assert_eq!(query.clone().with("env", None).get("env"), None);
        assert_eq!(Query::parse("?q=a+b").get("q"), Some("a b"));
    }
}
