//! Why something can never hold, and where the reason lies.

use crate::lint::WarningKind;
use crate::lint::condition::{COMPARED_MAX, Check, Placed, segments};
use crate::lint::proof::Goal;
use crate::model::condition::{Condition, Leaf, Operator};
use crate::sentence::listed;

impl<'d> Check<'d, '_> {
    /// Says why something can never hold, as far inside as the reason lies.
    pub(super) fn blame(&mut self, placed: &Placed<'d>, beside: &[Placed<'d>], is_whole: bool) {
        let is_alone = !self.is_possible(&[placed]);
        let members = placed.members();
        match placed.condition {
            Condition::Any(_) if members.is_empty() => {
                let message = "A group “any” without conditions is nobody. Add a condition or remove the group.";
                self.never(&[placed], message.into(), Vec::new(), is_whole);
            }
            Condition::Any(_) if is_alone => {
                members.iter().for_each(|member| self.blame(member, &[], is_whole));
            }
            Condition::All(_) if is_alone => {
                let impossible = members.iter().find(|member| !self.is_possible(&[member])).cloned();
                match impossible {
                    Some(member) => self.blame(&member, &[], is_whole),
                    None => self.quarrel(placed, &members, is_whole),
                }
            }
            Condition::Leaf(leaf) if is_alone => {
                let message = self.reason(leaf);
                self.never(&[placed], message, Vec::new(), is_whole);
            }
            _ => {
                let partner = beside.iter().find(|other| !self.is_possible(&[other, placed])).cloned();
                self.together(placed, partner.as_ref().map_or(beside, std::slice::from_ref), is_whole);
            }
        }
    }

    /// Names the first two of some conditions that exclude each other.
    fn quarrel(&mut self, group: &Placed<'d>, members: &[Placed<'d>], is_whole: bool) {
        let members = &members[..members.len().min(COMPARED_MAX)];
        for (at, member) in members.iter().enumerate() {
            if let Some(partner) = members[..at].iter().find(|other| !self.is_possible(&[other, member])) {
                return self.together(member, std::slice::from_ref(partner), is_whole);
            }
        }
        let message = "These conditions can never all hold at once. Correct or remove one of them.";
        self.never(&[group], message.into(), Vec::new(), is_whole);
    }

    fn together(&mut self, placed: &Placed<'d>, others: &[Placed<'d>], is_whole: bool) {
        let message = match others {
            [] => format!("“{}” can never hold. Correct or remove it.", placed.said()),
            [other] => {
                let (one, two) = (placed.said(), other.said());
                format!("“{one}” can never hold together with “{two}”. Correct or remove one of them.")
            }
            _ => format!("“{}” can never hold beside the other conditions. Correct or remove it.", placed.said()),
        };
        let because = others.iter().map(|other| other.path.clone()).collect();
        let conditions: Vec<&Placed<'d>> = [placed].into_iter().chain(others).collect();
        self.never(&conditions, message, because, is_whole);
    }

    /// Why a comparison alone can never hold.
    fn reason(&mut self, leaf: &'d Leaf) -> String {
        match leaf.operator {
            Operator::InSegment if leaf.negate => {
                format!("Everyone is in {}, so this holds for nobody. Remove it or change the segment.", segments(leaf))
            }
            Operator::InSegment => {
                format!("Nobody is in {}, so this holds for nobody. Put someone in or remove it.", segments(leaf))
            }
            Operator::SemverIn => format!("No version is in {}. Correct the range.", listed(&leaf.values)),
            _ => "This can never hold. Correct or remove it.".into(),
        }
    }

    fn never(&mut self, conditions: &[&Placed<'d>], message: String, because: Vec<String>, is_whole: bool) {
        let Some(placed) = conditions.first() else { return };
        let goals: Vec<Goal<'d>> = conditions.iter().map(|placed| Goal::Holds(placed.condition)).collect();
        let (kind, follows) = if is_whole { self.whole } else { (WarningKind::NeverHolds, "") };
        let (kind, message) = if self.prover.was_possible(&goals) {
            (WarningKind::Over, "The time of this is over: it never holds again. Change the time or remove it.".into())
        } else {
            (kind, message)
        };
        self.found.add_because(kind, placed.path.clone(), format!("{message}{follows}"), because);
    }
}
