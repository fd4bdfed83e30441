//! Icons of 16 px drawn with the text's colour. The shapes follow Lucide (ISC licence).

use leptos::prelude::*;

/// What an icon shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    /// Flags.
    Flag,
    /// Edges.
    Server,
    /// SDK keys.
    Key,
    /// Opens the navigation.
    Menu,
    /// Searches.
    Search,
    /// Adds.
    Plus,
    /// Closes, removes.
    Cross,
    /// Opens downwards.
    ChevronDown,
    /// Copies.
    Copy,
    /// Kills.
    Octagon,
    /// Moves up.
    ArrowUp,
    /// Moves down.
    ArrowDown,
    /// Light theme.
    Sun,
    /// Dark theme.
    Moon,
    /// The system's theme.
    Screen,
    /// Signs out.
    Leave,
    /// More actions.
    More,
    /// Pauses.
    Pause,
    /// Goes on.
    Play,
    /// Is protected.
    Lock,
}

impl Icon {
    fn path(self) -> &'static str {
        match self {
            Self::Flag => "M3 14.5V2.5M3 3c3-2 5 1.5 10 0v6.500c-5 1.500-7-2-10 0",
            Self::Server => "M2 2.500h12v4.500h-12zM2 9h12v4.500h-12zM4.500 4.750h.01M4.500 11.250h.01",
            Self::Key => "M8.500 7.500 14 2M11.500 4.500l2 2M9.500 10.500a3.500 3.500 0 1 1-7 0a3.500 3.500 0 0 1 7 0z",
            Self::Menu => "M2 4h12M2 8h12M2 12h12",
            Self::Search => "M11.500 7a4.500 4.500 0 1 1-9 0a4.500 4.500 0 0 1 9 0zM14 14l-3.600-3.600",
            Self::Plus => "M8 3v10M3 8h10",
            Self::Cross => "M4 4l8 8M12 4l-8 8",
            Self::ChevronDown => "M4 6.500l4 4 4-4",
            Self::Copy => "M5.500 5.500h8v8h-8zM3.500 10.500h-1v-8h8v1",
            Self::Octagon => "M5.300 1.500h5.400l3.800 3.800v5.400l-3.800 3.800H5.300l-3.800-3.800V5.300z",
            Self::ArrowUp => "M8 13V3M4 7l4-4 4 4",
            Self::ArrowDown => "M8 3v10M4 9l4 4 4-4",
            Self::Sun => {
                "M10.500 8a2.500 2.500 0 1 1-5 0a2.500 2.500 0 0 1 5 0zM8 1.500v1M8 13.500v1M1.500 8h1M13.500 8h1M3.400 3.400l.7.7M11.900 11.900l.7.7M3.400 12.600l.7-.7M11.900 4.100l.7-.7"
            }
            Self::Moon => "M13.500 9.500A6 6 0 1 1 6.500 2.500a5 5 0 0 0 7 7z",
            Self::Screen => "M2 3h12v8h-12zM6 14h4M8 11v3",
            Self::Leave => "M6 2.500H2.500v11H6M7 8h7M11 5l3 3-3 3",
            Self::More => "M3.500 8h.01M8 8h.01M12.500 8h.01",
            Self::Pause => "M5.500 3v10M10.500 3v10",
            Self::Play => "M4.500 2.500l9 5.500-9 5.500z",
            Self::Lock => "M3.500 7.500h9v6.500h-9zM5.500 7.500V5a2.500 2.500 0 0 1 5 0v2.500",
        }
    }

    /// The drawing; hidden from assistive technology, since a word always stands beside it.
    pub fn view(self) -> impl IntoView {
        view! {
            <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
                <path d=self.path()/>
            </svg>
        }
    }
}
