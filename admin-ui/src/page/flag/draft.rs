//! Unsaved edits of one flag in one environment: kept over reloads, never written over.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::id::RuleId;
use shared::model::problem::FieldProblem;
use shared::model::rule::Rule;
use shared::sentence;
use shared::wire::api::environment::EnvironmentSummary;
use shared::wire::api::flag::FlagEnvironment;

use crate::api::client;
use crate::storage::{self, Keep};

/// Names of drafts in the browser's storage begin so.
const PREFIX: &str = "draft.";

/// What was edited, and what it was edited from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Draft {
    version: u64,
    base: FlagConfig,
    config: FlagConfig,
}

/// The part of the page that is open for editing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Named keys.
    Targets,
    /// One rule.
    Rule(RuleId),
    /// The default serve.
    Default,
    /// The off variant.
    Off,
}

/// Reading and editing one flag in one environment. A context of that part of the page.
#[derive(Clone, Copy)]
pub struct Editing {
    /// The project's key.
    pub project: StoredValue<String>,
    /// The flag's key.
    pub flag: StoredValue<String>,
    /// Where.
    pub environment: StoredValue<EnvironmentSummary>,
    /// The flag itself.
    pub definition: Memo<FlagDefinition>,
    /// What the backend has.
    pub server: Memo<FlagEnvironment>,
    /// What the page shows: the draft, or what the backend has.
    pub config: Memo<FlagConfig>,
    /// What the draft changes, one sentence each.
    pub changes: Memo<Vec<String>>,
    /// What is open for editing.
    pub open: RwSignal<Option<Part>>,
    /// Why nothing can be edited, when so.
    pub refused: Signal<Option<String>>,
    draft: RwSignal<Option<Draft>>,
    problems: Memo<Vec<FieldProblem>>,
    told: RwSignal<Vec<FieldProblem>>,
}

impl Editing {
    /// Takes up a draft that was left here.
    pub fn start(
        project: String,
        flag: String,
        environment: EnvironmentSummary,
        definition: Memo<FlagDefinition>,
        server: Memo<FlagEnvironment>,
        refused: Signal<Option<String>>,
    ) -> Self {
        let kept = storage::read::<Draft>(Keep::Session, &storage_name(&project, &flag, environment.key.as_str()));
        let draft = RwSignal::new(kept);
        let config = Memo::new(move |_| {
            draft.with(|draft| draft.as_ref().map(|draft| draft.config.clone())).unwrap_or_else(|| server.get().config)
        });
        let changes = Memo::new(move |_| {
            draft.with(|draft| {
                draft.as_ref().map_or_else(Vec::new, |draft| sentence::changes(&draft.base, &draft.config))
            })
        });
        let told = RwSignal::new(Vec::new());
        let problems = Memo::new(move |_| {
            if draft.with(Option::is_none) {
                return Vec::new();
            }
            let own = config.with(|config| definition.with(|definition| config.validate(definition))).err();
            own.unwrap_or_default().into_iter().chain(told.get()).collect()
        });
        Self {
            project: StoredValue::new(project),
            flag: StoredValue::new(flag),
            environment: StoredValue::new(environment),
            definition,
            server,
            config,
            changes,
            open: RwSignal::new(None),
            refused,
            draft,
            problems,
            told,
        }
    }

    /// The editing around this part of the page.
    pub fn get() -> Self {
        expect_context()
    }

    /// Changes the draft, which begins with the first change and ends when nothing differs any more.
    pub fn edit(self, change: impl FnOnce(&mut FlagConfig)) {
        if self.refused.with_untracked(Option::is_some) {
            return;
        }
        let server = self.server.get_untracked();
        let begin = || Draft { version: server.version, base: server.config.clone(), config: server.config };
        let mut draft = self.draft.get_untracked().unwrap_or_else(begin);
        change(&mut draft.config);
        self.told.set(Vec::new());
        self.keep((draft.config != draft.base).then_some(draft));
    }

    /// Throws the draft away.
    pub fn discard(self) {
        self.open.set(None);
        self.told.set(Vec::new());
        self.keep(None);
    }

    /// Measures the draft against what the backend has now.
    pub fn rebase(self) {
        let server = self.server.get_untracked();
        if let Some(draft) = self.draft.get_untracked() {
            let draft = Draft { version: server.version, base: server.config, config: draft.config };
            self.keep((draft.config != draft.base).then_some(draft));
        }
    }

    /// Whether there is a draft; tracked.
    pub fn has_draft(self) -> bool {
        self.draft.with(Option::is_some)
    }

    /// Whether somebody saved since the draft was begun; tracked.
    pub fn is_stale(self) -> bool {
        let version = self.server.with(|server| server.version);
        self.draft.with(|draft| draft.as_ref().is_some_and(|draft| draft.version != version))
    }

    /// What the draft was begun from; tracked.
    pub fn base(self) -> FlagConfig {
        self.draft
            .with(|draft| draft.as_ref().map(|draft| draft.base.clone()))
            .unwrap_or_else(|| self.server.get().config)
    }

    /// A rule as it was when the draft was begun; tracked.
    pub fn base_rule(self, id: RuleId) -> Option<Rule> {
        self.base().rules.into_iter().find(|rule| rule.id == id)
    }

    /// The version that a save must name.
    pub fn version(self) -> u64 {
        self.draft.with_untracked(|draft| draft.as_ref().map(|draft| draft.version)).unwrap_or_default()
    }

    /// A rule as it is shown; tracked.
    pub fn rule(self, id: RuleId) -> Option<Rule> {
        self.config.with(|config| config.rules.iter().find(|rule| rule.id == id).cloned())
    }

    /// Changes one rule.
    pub fn edit_rule(self, id: RuleId, change: impl FnOnce(&mut Rule)) {
        self.edit(|config| {
            if let Some(rule) = config.rules.iter_mut().find(|rule| rule.id == id) {
                change(rule);
            }
        });
    }

    /// Keeps what the backend said against the draft, to be shown beside what it is about.
    pub fn tell(self, problems: Vec<FieldProblem>) {
        let strip = |problem: FieldProblem| FieldProblem {
            field: problem.field.strip_prefix("config.").map(Into::into).unwrap_or(problem.field),
            message: problem.message,
        };
        self.told.set(problems.into_iter().map(strip).collect());
    }

    /// Whether something is wrong with the draft; tracked.
    pub fn has_problems(self) -> bool {
        self.problems.with(|problems| !problems.is_empty())
    }

    /// What is wrong with the part at a path, as sentences; tracked.
    pub fn problems_at(self, path: &str) -> Vec<String> {
        let is_here =
            |field: &str| field.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        self.problems.with(|problems| {
            let here = problems.iter().filter(|problem| is_here(&problem.field));
            here.map(|problem| client::sentence(&problem.message)).collect()
        })
    }

    fn keep(self, draft: Option<Draft>) {
        let name = self.project.with_value(|project| {
            self.flag.with_value(|flag| self.environment.with_value(|e| storage_name(project, flag, e.key.as_str())))
        });
        match &draft {
            Some(draft) => storage::write(Keep::Session, &name, draft),
            None => storage::remove(Keep::Session, &name),
        }
        self.draft.set(draft);
    }
}

/// Whether a draft was left in an environment.
pub fn is_kept(project: &str, flag: &str, environment: &str) -> bool {
    storage::read::<Draft>(Keep::Session, &storage_name(project, flag, environment)).is_some()
}

/// Whether any draft would be lost with the browser's tab.
pub fn is_any_kept() -> bool {
    storage::has_any(Keep::Session, PREFIX)
}

fn storage_name(project: &str, flag: &str, environment: &str) -> String {
    format!("{PREFIX}{project} {flag} {environment}")
}
