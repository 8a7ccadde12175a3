//! Migrations: variables whose name or type differs from that in earlier releases.

use std::collections::BTreeMap;

use super::{addon::origin_at, place_at};
use crate::{
    definition::{self as written, parse::Written},
    model::{Migration, ValueType},
    note::Notes,
};

/// Checks migrations as a whole: migrations without an effect, and several of one variable.
pub(super) fn check(migrations: &[written::Migration], written: &Written<written::Stack>, notes: &mut Notes) {
    let mut seen = BTreeMap::new();
    for (at, one) in migrations.iter().enumerate() {
        let index = at.to_string();
        let place = |key: &str| place_at(written, &["spec", "migrations", &index, key]);
        let name = &one.variable;
        if one.rename_to.is_none() && one.value_type.is_none() {
            notes
                .error("migration", place("variable"), format!("this migration of `{name}` changes nothing"))
                .hint("add `renameTo`, `type`, or both");
        }
        if one.rename_to.as_ref() == Some(name) {
            notes
                .error("migration", place("renameTo"), format!("this migration renames `{name}` to itself"))
                .hint("remove `renameTo`, or correct one of the two names");
        }
        if let Some(first) = seen.insert(name.as_str(), place("variable")) {
            notes
                .error("duplicate", place("variable"), format!("there are two migrations of `{name}`"))
                .hint("write one entry with both `renameTo` and `type`; if the new name changes again, add an entry for the new name")
                .related("the other one", first);
        }
    }
}

/// Lowers the migrations of a stack or a frozen release, in their order.
pub(super) fn lower<T>(migrations: &[written::Migration], written: &Written<T>) -> Vec<Migration> {
    let one = |(at, one): (usize, &written::Migration)| Migration {
        variable: one.variable.as_str().into(),
        rename_to: one.rename_to.as_deref().map(Into::into),
        value_type: one.value_type.map(|kind| match kind {
            written::ValueType::String => ValueType::String,
            written::ValueType::Integer => ValueType::Integer,
            written::ValueType::Number => ValueType::Number,
            written::ValueType::Boolean => ValueType::Boolean,
        }),
        origin: origin_at(written, &["spec", "migrations", &at.to_string(), "variable"]),
    };
    migrations.iter().enumerate().map(one).collect()
}
