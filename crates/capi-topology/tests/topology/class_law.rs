//! The law of classes: nothing replaces the machines of a Cluster, or may do so, that is not forecast of any Cluster of the
//! class.

use capi_topology::import::ClassFiles;
use capi_topology::predict::MeaningKind;
use capi_topology::predict::class_change::{ClassForecast, ClassState, of_any_cluster};
use capi_topology::predict::forecast::of_change;
use capi_topology::{PoolKind, SharedClass, Side, TopologyPart, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::law::{INPUTS, altered, leaves, settings};

/// The weight of an outcome: nothing, a change in place, or more. A changed patch is forecast to replace machines, although
/// for the values of some Cluster it may write what is refused.
fn weight(kind: MeaningKind) -> u8 {
    match kind {
        MeaningKind::NoChange | MeaningKind::MetadataOnly => 0,
        MeaningKind::InPlace | MeaningKind::Scale | MeaningKind::Create => 1,
        MeaningKind::Rollout
        | MeaningKind::Upgrade
        | MeaningKind::Delete
        | MeaningKind::ProviderDependent
        | MeaningKind::Wedged
        | MeaningKind::Opaque
        | MeaningKind::Rejected => 2,
    }
}

/// The objects of a class under other names, as each release has its own.
fn renamed(objects: &[Value], suffix: &str) -> Vec<Value> {
    fn rename(value: &mut Value, suffix: &str) {
        if let Value::String(name) = value {
            name.push_str(suffix);
        }
    }
    fn references(value: &mut Value, suffix: &str) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    match key.as_str() {
                        "templateRef" | "ref" => rename(&mut value["name"], suffix),
                        "variables" | "patches" => {}
                        _ => references(value, suffix),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| references(item, suffix)),
            _ => {}
        }
    }
    let mut objects = objects.to_vec();
    for object in &mut objects {
        rename(&mut object["metadata"]["name"], suffix);
        if object["kind"] == "ClusterClass" {
            references(&mut object["spec"], suffix);
        }
    }
    objects
}

fn shared(objects: &[Value]) -> SharedClass {
    ClassFiles::new(objects.to_vec()).into()
}

/// The class that a part of a Cluster is made from.
fn class_of(cluster: &Value, part: &TopologyPart) -> TopologyPart {
    let Some(pool) = part.as_pool() else { return part.clone() };
    let pools = cluster["spec"]["topology"]["workers"][pool.kind.list()].as_array();
    let own = pools.into_iter().flatten().find(|one| one["name"] == json!(pool.name));
    TopologyPart::pool(pool.kind, own.and_then(|own| own["class"].as_str()).unwrap_or_default())
}

fn worst(forecast: &ClassForecast, part: &TopologyPart) -> u8 {
    if !forecast.removed.is_empty() {
        return 2;
    }
    let own = forecast.effects.iter().filter(|one| one.part == *part || one.part == TopologyPart::Cluster);
    own.map(|one| weight(one.kind)).max().unwrap_or(0)
}

/// The effects that are forecast of a class, and the verdicts on a Cluster that moves to it; none if nothing can be compared.
fn moved(objects: &[Value], cluster: &Value, changed: &[Value]) -> Option<(ClassForecast, Vec<Verdict>)> {
    let (old, new) = (renamed(objects, "-a"), renamed(changed, "-b"));
    let of = |suffix: &str| {
        let mut cluster = cluster.clone();
        let name = &mut cluster["spec"]["topology"]["classRef"]["name"];
        *name = json!(format!("{}{suffix}", name.as_str()?));
        Some(cluster)
    };
    let (before, after) = (Side::new(of("-a")?, shared(&old)), Side::new(of("-b")?, shared(&new)));
    let found = of_change(&before, &after, &settings()).ok()?;
    let version = cluster["spec"]["topology"]["version"].as_str()?;
    let state = |side| ClassState::new(side, version);
    let forecast = of_any_cluster(state(&before.class), state(&after.class), &settings());
    Some((forecast, found.verdicts))
}

/// Reports the part of a Cluster for which its class promised less.
fn judge(objects: &[Value], cluster: &Value, changed: &[Value]) -> Result<(), String> {
    let Some((_, own)) = moved(objects, cluster, objects) else { return Ok(()) };
    let Some((forecast, found)) = moved(objects, cluster, changed) else { return Ok(()) };
    // What happens to a Cluster even if nothing changes is due to the Cluster.
    let of_cluster = |part: &TopologyPart| {
        let own = own.iter().filter(|one| one.subject == *part || one.subject == TopologyPart::Cluster);
        own.map(|one| weight(one.meaning.kind())).max().unwrap_or(0)
    };
    let parts = forecast.effects.iter().map(|one| &one.part);
    let anywhere = parts.map(|part| worst(&forecast, part)).max().unwrap_or(0);
    for verdict in &found {
        let class = class_of(cluster, &verdict.subject);
        // What a patch writes may be refused for the values of a Cluster. Then no part moves, whichever the patch selects.
        let is_stuck = matches!(verdict.meaning.kind(), MeaningKind::Wedged | MeaningKind::Rejected);
        let said = worst(&forecast, &class).max(if is_stuck { anywhere } else { 0 });
        if weight(verdict.meaning.kind()) > said.max(of_cluster(&verdict.subject)) {
            let effects = &forecast.effects;
            return Err(format!("{class}: {:?} {:?}\n{effects:#?}", verdict.meaning, verdict.reasons));
        }
    }
    Ok(())
}

#[test]
fn a_class_under_another_name_changes_nothing_unless_a_patch_reads_its_name() {
    let (mut silent, mut others) = (0, Vec::new());
    for (name, objects, cluster) in INPUTS.iter() {
        match moved(objects, cluster, objects) {
            Some((forecast, _)) if forecast.effects.is_empty() => silent += 1,
            Some((forecast, _)) => others.push(format!("{name}: {:?}", forecast.effects)),
            None => {}
        }
    }
    assert!(silent > others.len(), "{silent} of {}: {:#?}", INPUTS.len(), &others[..others.len().min(9)]);
}

/// A change of the class in each of these places, and what it does: to which part, how much.
#[test]
fn a_change_of_a_class_does_what_its_field_does() {
    let named = |(name, ..): &&(String, Vec<Value>, Value)| name.starts_with("stack-docker/");
    let (_, objects, _) = INPUTS.iter().find(named).unwrap();
    let class = |change: &dyn Fn(&mut Value)| {
        let mut changed = objects.clone();
        changed.iter_mut().for_each(change);
        let (old, new) = (shared(&renamed(objects, "-a")), shared(&renamed(&changed, "-b")));
        of_any_cluster(ClassState::new(&old, "v1.34.0"), ClassState::new(&new, "v1.34.0"), &settings())
    };
    let set = |kind: &'static str, path: &'static str, key: &'static str, value: Value| {
        move |object: &mut Value| {
            if object["kind"] == kind {
                let at = object.pointer_mut(path).unwrap_or_else(|| panic!("{kind} has no {path}"));
                at[key] = value.clone();
            }
        }
    };
    let workers = |forecast: &ClassForecast| {
        let pools = forecast.effects.iter().filter(|one| one.part.is_of(PoolKind::MachineDeployment));
        pools.map(|one| one.kind).max()
    };
    let control_plane = |forecast: &ClassForecast| {
        let own = forecast.effects.iter().filter(|one| one.part == TopologyPart::ControlPlane);
        own.map(|one| one.kind).max()
    };
    assert_eq!(class(&|_| {}), ClassForecast::default());
    let template = "KubeadmControlPlaneTemplate";
    let inner = "/spec/template/spec";
    let files = class(&set(
        template,
        "/spec/template/spec/kubeadmConfigSpec",
        "postKubeadmCommands",
        json!(["true"]),
    ));
    assert_eq!((control_plane(&files), workers(&files)), (Some(MeaningKind::Rollout), None), "{files:#?}");
    let strategy = json!({ "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 0 } } });
    let strategy = class(&set(template, inner, "rollout", strategy));
    assert_eq!(
        (control_plane(&strategy), workers(&strategy)),
        (Some(MeaningKind::InPlace), None),
        "{strategy:#?}"
    );
    let domain = class(&|object| {
        if object["kind"] == "ClusterClass" {
            object["spec"]["workers"]["machineDeployments"][0]["failureDomain"] = json!("az9");
        }
    });
    assert_eq!((control_plane(&domain), workers(&domain)), (None, Some(MeaningKind::Rollout)), "{domain:#?}");
    let bootstrap = class(&set("KubeadmConfigTemplate", inner, "postKubeadmCommands", json!(["true"])));
    assert_eq!(
        (control_plane(&bootstrap), workers(&bootstrap)),
        (None, Some(MeaningKind::Rollout)),
        "{bootstrap:#?}"
    );
}

proptest! {
    // `PROPTEST_CASES` makes it more than 16.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 16, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn no_cluster_gets_worse_than_its_class_says(case: prop::sample::Index, document: prop::sample::Index,
                                                 leaf: prop::sample::Index, how in 0_usize..3) {
        let (name, objects, cluster) = case.get(&INPUTS);
        let mut changed = objects.clone();
        let one = document.get_mut(&mut changed);
        let mut places = Vec::new();
        leaves(one, "", &mut places);
        let place = leaf.get(&places).clone();
        let identity = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];
        prop_assume!(!identity.contains(&place.as_str()));
        altered(one.pointer_mut(&place).unwrap(), how);
        let kind = one["kind"].clone();
        let judged = judge(objects, cluster, &changed);
        prop_assert!(judged.is_ok(), "{name}: {kind} {place}: {}", judged.unwrap_err());
    }
}
