//! Limits on how the owner of machines replaces those that a health check has marked.

use serde_json::Value;

use k8s_schema::value::present;

/// A limit on how the owner of the machines replaces unhealthy ones.
#[derive(Debug, Clone, Copy)]
struct Limit {
    field: &'static str,
    /// Its value if it is not set.
    unset: i64,
    /// Whether more machines are replaced if it rises.
    rises: bool,
}

const LIMITS: [Limit; 4] = [
    Limit { field: "maxInFlight", unset: i64::MAX, rises: true },
    Limit { field: "maxRetry", unset: i64::MAX, rises: true },
    Limit { field: "retryPeriodSeconds", unset: 0, rises: false },
    Limit { field: "minHealthyPeriodSeconds", unset: 3600, rises: false },
];

/// The limits that let more machines be replaced than before, in words.
pub(super) fn looser_limits(before: &Value, after: &Value) -> Vec<String> {
    LIMITS.into_iter().filter(|limit| limit.is_looser(before, after)).map(Limit::words).collect()
}

impl Limit {
    fn words(self) -> String {
        format!("spec.remediation.{} changes", self.field)
    }

    /// Whether more machines may be replaced than before. Values of another form cannot be compared.
    fn is_looser(self, before: &Value, after: &Value) -> bool {
        let [old, new] = [before, after].map(|own| present(own, &["spec", "remediation", self.field]));
        let number = |value: Option<&Value>| match value {
            None => Some((false, self.unset)),
            Some(Value::String(text)) => Some((true, text.strip_suffix('%')?.parse().ok()?)),
            Some(value) => Some((false, value.as_i64()?)),
        };
        if old == new || old.is_none() && self.unset == i64::MAX {
            return false;
        }
        match (number(old), number(new)) {
            (Some((of_old, old)), Some((of_new, new))) if of_old == of_new => {
                if self.rises {
                    new > old
                } else {
                    new < old
                }
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_of_the_owner_count_in_the_direction_in_which_they_let_more_machines_go() {
        let limit = |field: &str| LIMITS.into_iter().find(|one| one.field == field).unwrap();
        let own = |field: &str, value: Value| {
            let mut own = json!({ "spec": { "remediation": {} } });
            own["spec"]["remediation"][field] = value;
            own
        };
        for (field, old, new, expected) in [
            ("maxInFlight", json!(1), json!(2), true),
            ("maxInFlight", json!(1), json!(null), true),
            ("maxInFlight", json!("10%"), json!(1), true),
            ("maxInFlight", json!("20%"), json!("10%"), false),
            ("maxInFlight", json!(null), json!(1), false),
            ("maxRetry", json!(3), json!(null), true),
            ("maxRetry", json!(null), json!(3), false),
            ("retryPeriodSeconds", json!(60), json!(null), true),
            ("retryPeriodSeconds", json!(60), json!(120), false),
            ("minHealthyPeriodSeconds", json!(7200), json!(null), true),
            ("minHealthyPeriodSeconds", json!(null), json!(7200), false),
        ] {
            let is_looser = limit(field).is_looser(&own(field, old.clone()), &own(field, new.clone()));
            assert_eq!(is_looser, expected, "{field} from {old} to {new}");
        }
    }
}
