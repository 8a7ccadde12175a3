//! Validates a class and its templates like the API server and Cluster API's webhooks.

use super::{Check, Finder, Rule};
use crate::{
    release::Release,
    topology::{
        By, Catalog, FieldError, Refusal,
        predict::{adoption, create},
    },
    yaml::{Node, Origin, to_json, trail},
};

pub(super) static RULE: Rule = Rule {
    name: "cluster-class",
    docs: "The API server or a webhook of Cluster API would refuse the ClusterClass or one of its templates, or the \
           ClusterClass would never become ready. No cluster of the release could be built.",
    check: Check::Release(check),
};

fn check(release: &Release, finder: &mut Finder<'_>) {
    let objects: Vec<_> = release.objects.iter().map(to_json).collect();
    let catalog = Catalog::default().with_gates(finder.classes.gates);
    let refused = create::apply_classes(&objects, &catalog, &[]);
    for fault in refused.into_iter().chain(adoption::refused(&objects, &[])) {
        let named = |object: &&Node| {
            let text = |path: &[&str]| object.at(path).and_then(Node::as_str).unwrap_or_default();
            fault.object == format!("{}/{}", text(&["kind"]), text(&["metadata", "name"]))
        };
        let object = release.objects.iter().find(named);
        let place =
            object.map_or(Origin::NOWHERE, |object| finder.origin_on(&trail(object, fault.error.path())));
        let hint = match fault.by {
            By::Schema | By::ServerSideApply => "the API server refuses it because of the schema of its kind",
            By::WebhookDefault | By::WebhookValidate => "Cluster API's webhook refuses it when it is applied",
            By::Topology => "Cluster API accepts the class, but its controller never makes it ready",
        };
        finder.notes.error("cluster-class", place, message(&fault)).hint(hint);
    }
}

/// The message, without the object's name: the name contains the release, so a fault shared by several minors is reported
/// once.
fn message(fault: &Refusal) -> String {
    let (kind, FieldError { field, detail, .. }) =
        (fault.object.split('/').next().unwrap_or_default(), &fault.error);
    match (kind.is_empty(), field.is_empty() || detail.contains(field.as_str())) {
        (true, _) => detail.clone(),
        (false, true) => format!("{kind}: {detail}"),
        (false, false) => format!("{kind}: {field}: {detail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    fn of_class(from: &str, to: &str) -> Vec<String> {
        found(&[(from, to)], "")
    }

    #[test]
    fn a_class_that_is_right_is_left_alone() {
        assert_eq!(found(&[], ""), Vec::<String>::new());
    }

    #[test]
    fn a_default_that_its_own_schema_refuses_is_reported_with_its_line() {
        let found = of_class("default: in memory only", "default: \"\"");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("cluster-class cluster-class.yaml:"), "{found:?}");
        assert!(found[0].contains("spec.variables[motd]"), "{found:?}");
    }

    #[test]
    fn a_field_that_the_kind_does_not_have_is_reported() {
        let found = of_class("enabledIf: \"", "enabldIf: \"");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("enabldIf: field not declared in schema"), "{found:?}");
        assert!(!found[0].contains("cluster-class.yaml:1:"), "{found:?}");
    }

    #[test]
    fn a_control_plane_template_that_the_class_cannot_own_is_reported() {
        let found = of_class(
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\n      kind: KubeadmControlPlaneTemplate",
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\n      kind: KubeadmControlPlaneTemplate",
        );
        let is_it =
            |one: &String| one.contains("KubeadmControlPlaneTemplate: spec.template.spec.rollout.strategy");
        assert_eq!(found.iter().filter(|one| is_it(one)).count(), 1, "{found:?}");
    }

    #[test]
    fn a_patch_of_a_variable_that_is_not_there_is_reported() {
        let found = of_class(
            "valueFrom:\n                template: |\n                  path: /etc/motd\n                  content: {{ .motd | quote }}",
            "valueFrom:\n                variable: mtod",
        );
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("mtod"), "{found:?}");
    }
}
