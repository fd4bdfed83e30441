//! The life of a changeset that waits: people approve it, edit it, end it; it is applied once nothing stands in the way.
//!
//! Every step locks the project's row, then the changeset's, so that of two approvals one applies and of an approval and an
//! edit one comes first. Whatever was true when somebody asked is looked at anew when it is applied: see `apply_waiting`.

mod apply;
mod detail;
mod dry_run;
mod list;
mod permit;
mod step;
mod subject;
mod tally;
mod told;

pub(in crate::app) use apply::{Outcome, apply_waiting};
pub use detail::detail;
pub use dry_run::dry_run;
pub use list::{Wanted, list};
use shared::model::id::{ChangesetId, ProjectId};
use sqlx::PgConnection;
pub use step::{apply, approve, break_glass, cancel, comment, edit, reject, start};
pub(in crate::app) use tally::{Tally, counts_in};
pub(in crate::app::changeset) use told::{Told, tell};

use crate::error::AppError;
use crate::store;
use crate::store::changeset::Changeset;

/// The longest reason and the longest comment, in characters.
const TEXT_CHARS_MAX: usize = 2_000;

/// Locks the project's row, then the changeset's.
async fn lock(db: &mut PgConnection, project: ProjectId, id: ChangesetId) -> Result<Changeset, AppError> {
    store::project::lock(db, project).await?;
    find(db, project, id).await
}

/// A changeset that was ever looked at; its row is held until the transaction ends.
pub(in crate::app) async fn find(
    db: &mut PgConnection,
    project: ProjectId,
    id: ChangesetId,
) -> Result<Changeset, AppError> {
    let found = store::changeset::find_for_update(db, project, id).await?;
    found.ok_or_else(|| AppError::not_found("changeset", id))
}

/// A text of 1 to 2,000 characters, without blanks around it.
pub(super) fn check_text<'a>(field: &'static str, text: &'a str) -> Result<&'a str, AppError> {
    let text = text.trim();
    let length = text.chars().count();
    if length == 0 || length > TEXT_CHARS_MAX || text.contains('\0') {
        return Err(AppError::field(field, format!("write 1 to {TEXT_CHARS_MAX} characters")));
    }
    Ok(text)
}
