//! Decides quickly whether a file of a cluster may depend on a template, before each line is explained.

use super::part::{Content, Part, PartFile};
use crate::{
    template::{EnclosingStatement, Read},
    yaml::{Node, Origin, Value},
};

/// The files of stacks and releases that are not templates.
const NO_TEMPLATES: [&str; 4] = ["stack.yaml", "addon.yaml", "node-images.yaml", "release.yaml"];

impl Part<'_> {
    /// Whether a file may have lines from a source. The objects that install an addon do not depend on the templates of
    /// other addons, except through reads of their own templates: a variable may have a default from its class, and the name
    /// of a release is a hash of all of its files.
    pub(super) fn may_come_from(&self, made: &PartFile<'_>, source: &str) -> bool {
        let mut folders = source.rsplit('/');
        let is_no_template = folders.next().is_none_or(|name| NO_TEMPLATES.contains(&name));
        let is_cluster = self.is_of_cluster();
        let is_stacks = source.starts_with("stacks/") || source.starts_with("generated/releases/");
        let (Some(addon), Content::Object(object), true) =
            (made.facts.addon(), &made.body, is_cluster && is_stacks && !is_no_template)
        else {
            return true;
        };
        let mut steps = source.split('/').zip(source.split('/').skip(1));
        steps.any(|step| step == ("addons", addon)) || self.reads_of(object, source)
    }

    fn reads_of(&self, node: &Node, source: &str) -> bool {
        self.leads_to(node.origin, source)
            || match &node.value {
                Value::Sequence(items) => items.iter().any(|item| self.reads_of(item, source)),
                Value::Mapping(mapping) => mapping.iter().any(|entry| {
                    self.leads_to(entry.key.origin, source) || self.reads_of(&entry.value, source)
                }),
                _ => false,
            }
    }

    fn leads_to(&self, origin: Origin, source: &str) -> bool {
        let Some(trace) = self.trace(origin) else { return self.is_of(origin, source) };
        let reads = |reads: &[Read]| reads.iter().any(|read| self.is_read_of(read, source));
        let given = |given: &[EnclosingStatement]| {
            given.iter().any(|given| self.is_of(given.statement, source) || reads(&given.reads))
        };
        let line = |line: &crate::template::Line| {
            self.leads_to(line.site, source) || reads(&line.reads) || given(&line.given)
        };
        trace.site.is_some_and(|site| self.leads_to(site, source))
            || reads(&trace.reads)
            || given(&trace.given)
            || given(&trace.shape)
            || trace.lines.iter().any(line)
    }

    fn is_read_of(&self, read: &Read, source: &str) -> bool {
        match read {
            Read::Value(path) | Read::Shape(path) | Read::Passed(path) => {
                matches!(path.names().as_slice(), ["release", ..] | ["cluster", "variables", ..])
            }
            Read::Statement(origin) => self.is_of(*origin, source),
        }
    }
}
