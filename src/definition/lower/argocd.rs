//! Lowers the settings that Argo CD alone has.

use super::{fleet::ManagementLowering, label};
use crate::{
    definition as written,
    model::{ArgoCd, ClusterNames, Destination, Engine, Registration},
    note::Notes,
};

impl ManagementLowering<'_> {
    pub(super) fn argocd(&self, engine: Engine, notes: &mut Notes) -> Option<ArgoCd> {
        let mut argocd = ArgoCd::default();
        let Some(written) = &self.management.argocd else { return Some(argocd) };
        let before = notes.errors();
        if engine.settings() != Some("argocd") {
            let message = format!("`argocd` has no effect: the engine is {}", engine.as_str());
            notes
                .error("engine", self.place(&["argocd"]), message)
                .hint("add `engine: argocd`, or remove `argocd`");
        }
        if let Some(namespace) = written.namespace.as_ref().and_then(|namespace| {
            label(namespace, "the namespace", Some(self.place(&["argocd", "namespace"])), notes)
        }) {
            argocd.namespace = namespace;
        }
        if let Some(project) = written
            .project
            .as_ref()
            .and_then(|project| self.subdomain(project, "the project", &["argocd", "project"], notes))
        {
            argocd.project = project;
        }
        if let Some(destination) = written.destination.as_ref().and_then(|text| self.destination(text, notes))
        {
            argocd.destination = destination;
        }
        if let Some(names) = written.cluster_names.as_ref().and_then(|text| self.cluster_names(text, notes)) {
            argocd.cluster_names = names;
        }
        argocd.registration = written.registration.map(|registration| match registration {
            written::Registration::Capi2argo => Registration::Capi2argo,
            written::Registration::Other => Registration::Other,
        });
        argocd.automated = written.automated.unwrap_or(true);
        (notes.errors() == before).then_some(argocd)
    }

    fn destination(&self, text: &str, notes: &mut Notes) -> Option<Destination> {
        let is_address = text.contains("://");
        // In the projects of Argo CD, these have a meaning. Brackets enclose the host of an address, where they are escaped.
        let special = |c: char| "*?!{}\\@\"'".contains(c) || !is_address && "[]".contains(c);
        let message = if text.contains(|c: char| c.is_whitespace() || c.is_control())
            || is_address && !text.starts_with("https://")
        {
            format!("`{}` is not the name or the address of a cluster", text.escape_debug())
        } else if let Some(found) = text.chars().find(|c| special(*c)) {
            format!(
                "`{text}` cannot be used: `{found}` has a special meaning in the projects of Argo CD, or is not allowed in names"
            )
        } else if is_address {
            // Argo CD removes the slash from the address of a registered cluster, not from that of a destination.
            return Some(Destination::Server(text.trim_end_matches('/').to_owned()));
        } else {
            return Some(Destination::Name(text.to_owned()));
        };
        notes
            .error("engine", self.place(&["argocd", "destination"]), message)
            .hint("run `argocd cluster list` to see the names and the addresses that Argo CD knows");
        None
    }

    fn cluster_names(&self, pattern: &str, notes: &mut Notes) -> Option<ClusterNames> {
        let names = ClusterNames::new(pattern);
        if names.is_none() {
            notes
                .error(
                    "engine",
                    self.place(&["argocd", "clusterNames"]),
                    format!("`{}` is not a pattern for names of clusters", pattern.escape_debug()),
                )
                .hint(format!(
                    "it must contain `{{cluster}}`; it may contain {}, and letters, digits, dots, dashes and underscores",
                    ClusterNames::PLACEHOLDERS.map(|one| format!("`{one}`")).join(", ")
                ));
        }
        names
    }
}
