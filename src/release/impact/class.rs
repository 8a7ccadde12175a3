//! What a change of class means for any cluster. The topology library decides it
//! ([`of_any_cluster`](crate::topology::predict::class_change::of_any_cluster)); here, its effects get the words of a
//! release, together with what it cannot know: which variables were renamed, and which other templates read them.

use super::{Impact, RebaseEffect, readers::readers};
use crate::{
    release::Release,
    topology::{
        PoolKind, TopologyPart,
        predict::class_change::{Cause, ClassForecast},
    },
};

/// Adds the effects of a class that changes. `new` is the release with the class after the change.
pub(super) fn add(forecast: &ClassForecast, new: &Release, impact: &mut Impact) {
    for one in &forecast.effects {
        let Some(effect) = RebaseEffect::of(&one.part, one.kind) else { continue };
        let why = match &one.cause {
            Cause::Class(why) => why.clone(),
            Cause::Fields(why) => format!("{}: {why}", words_of(&one.part)),
        };
        impact.add(effect, why);
    }
    for name in &forecast.removed {
        let renamed = new.migrations.iter().find(|one| *one.variable == **name);
        let why = renamed.map_or_else(
            || format!("the variable `{name}` is gone: clusters that set it are refused"),
            |one| {
                let now = one.target();
                format!("the variable `{name}` is called `{now}`: clusters that set it are refused until `stackloom migrate` has changed their definitions")
            },
        );
        impact.add(RebaseEffect::Unknown, why);
    }
    for name in &forecast.defaults {
        for (effect, why) in readers(new, name) {
            impact.add(effect, why);
        }
    }
}

fn words_of(part: &TopologyPart) -> String {
    match part {
        TopologyPart::Cluster => "the cluster".to_owned(),
        TopologyPart::ControlPlane => "the control plane".to_owned(),
        TopologyPart::Infrastructure => "the cluster's infrastructure".to_owned(),
        TopologyPart::Pool(pool) => match pool.kind {
            PoolKind::MachineDeployment => format!("workers of the class `{}`", pool.name),
            PoolKind::MachinePool => format!("machine pools of the class `{}`", pool.name),
        },
    }
}
