//! Names of generated objects. Upstream draws five random characters; here, symbols stand for them.
//!
//! Source: `internal/topology/names/names.go`.

use gotmpl::Template;
use serde_json::{Value, json};

const MAX_NAME: usize = 63;
const RANDOM: &str = "\u{1}\u{1}\u{1}\u{1}\u{1}";
const MAX_BASE: usize = MAX_NAME - RANDOM.len();

/// Stands for the random characters of a name: `#1` if they were drawn when the object was created, `#2` if they are drawn
/// for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Draw(pub u8);

impl Draw {
    /// The symbol itself.
    pub(crate) fn symbol(self) -> String {
        format!("#{}", self.0)
    }
}

/// The object to name, with the data that a naming template may use in addition to the cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Named<'a> {
    /// The infrastructure cluster or the control plane.
    Cluster,
    /// A machine deployment with this topology name.
    MachineDeployment(&'a str),
    /// A machine pool with this topology name.
    MachinePool(&'a str),
    /// A machine of the control plane with this name.
    KubeadmControlPlane(&'a str),
    /// A machine of the machine set with this name.
    MachineSet(&'a str),
}

/// Generates a name: a fixed prefix and a random suffix.
pub(crate) fn simple(prefix: &str, draw: Draw) -> String {
    format!("{}{}", cut(prefix), draw.symbol())
}

/// Generates a name from a class's naming template, or from the default one.
pub(crate) fn from_template(
    template: &str,
    cluster: &str,
    named: Named<'_>,
    draw: Draw,
) -> Result<String, String> {
    let name = render(template, cluster, named)?;
    if name.len() > MAX_NAME {
        return Ok(format!("{}{}", with_symbols(cut(&name), draw), draw.symbol()));
    }
    Ok(with_symbols(&name, draw))
}

/// Renders a sample name, which the class webhook validates.
pub(crate) fn sample(template: &str, cluster: &str, named: Named<'_>) -> Result<String, String> {
    let name = render(template, cluster, named)?;
    let name = if name.len() > MAX_NAME { format!("{}{RANDOM}", cut(&name)) } else { name };
    Ok(name.replace('\u{1}', "x"))
}

/// Replaces random characters with a symbol, even if some of them were cut off.
fn with_symbols(name: &str, draw: Draw) -> String {
    let mut all = String::with_capacity(name.len());
    let mut cut = false;
    for one in name.replace(RANDOM, &draw.symbol()).chars() {
        match one {
            '\u{1}' if cut => {}
            '\u{1}' => all.push_str(&draw.symbol()),
            _ => all.push(one),
        }
        cut = one == '\u{1}';
    }
    all
}

fn render(template: &str, cluster: &str, named: Named<'_>) -> Result<String, String> {
    let default = match named {
        Named::Cluster => "{{ .cluster.name }}-{{ .random }}",
        Named::MachineDeployment(_) => {
            "{{ .cluster.name }}-{{ .machineDeployment.topologyName }}-{{ .random }}"
        }
        Named::MachinePool(_) => "{{ .cluster.name }}-{{ .machinePool.topologyName }}-{{ .random }}",
        Named::KubeadmControlPlane(_) => "{{ .kubeadmControlPlane.name }}-{{ .random }}",
        Named::MachineSet(_) => "{{ .machineSet.name }}-{{ .random }}",
    };
    if template.is_empty() || template == default {
        return Ok(match named {
            Named::Cluster => format!("{cluster}-{RANDOM}"),
            Named::MachineDeployment(name) | Named::MachinePool(name) => {
                format!("{cluster}-{name}-{RANDOM}")
            }
            Named::KubeadmControlPlane(name) | Named::MachineSet(name) => format!("{name}-{RANDOM}"),
        });
    }
    let mut data = json!({ "cluster": { "name": cluster }, "random": RANDOM });
    match named {
        Named::Cluster => {}
        Named::MachineDeployment(name) => {
            data["machineDeployment"] = json!({ "topologyName": name });
        }
        Named::MachinePool(name) => data["machinePool"] = json!({ "topologyName": name }),
        Named::KubeadmControlPlane(name) => data["kubeadmControlPlane"] = json!({ "name": name }),
        Named::MachineSet(name) => data["machineSet"] = json!({ "name": name }),
    }
    render_strict(template, &data)
}

/// Renders like Go with `missingkey=error`: a missing name is an error.
fn render_strict(template: &str, data: &Value) -> Result<String, String> {
    let parsed = Template::parse_plain(template).map_err(|error| error.message)?;
    let name = parsed.render(data).map_err(|error| error.message)?;
    if name.contains("<no value>") {
        return Err("the template uses a name that does not exist".to_owned());
    }
    Ok(name)
}

fn cut(name: &str) -> &str {
    let mut end = name.len().min(MAX_BASE);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(template: &str) -> String {
        from_template(template, "one", Named::Cluster, Draw(1)).unwrap()
    }

    #[test]
    fn random_characters_stay_where_a_name_is_cut() {
        let long = "a".repeat(60);
        assert_eq!(named("{{ .random }}-x-{{ .random }}"), "#1-x-#1");
        let start: String = long.chars().take(52).collect();
        assert_eq!(named(&format!("{{{{ .random }}}}-{long}")), format!("#1-{start}#1"));
        let start: String = long.chars().take(56).collect();
        assert_eq!(named(&format!("{start}{{{{ .random }}}}{long}")), format!("{start}#1#1"));
    }

    #[test]
    fn a_sample_is_as_long_as_a_name() {
        let long = format!("{}{{{{ .random }}}}", "a.".repeat(100));
        assert_eq!(sample(&long, "cluster", Named::KubeadmControlPlane("one")).unwrap().len(), MAX_NAME);
    }
}
