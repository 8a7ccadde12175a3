//! Names of generated objects. Upstream draws five random characters; here they are symbols.
//!
//! Source: `internal/topology/names/names.go`.

use serde_json::{Value, json};

use super::gotemplate::Template;

const MAX_NAME: usize = 63;
const RANDOM: &str = "\u{1}\u{1}\u{1}\u{1}\u{1}";
const MAX_BASE: usize = MAX_NAME - RANDOM.len();

/// Stands for the random characters of a name: `#1` where they were drawn when the object was
/// created, `#2` where they are drawn for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw(pub u8);

impl Draw {
    /// The symbol itself.
    pub fn symbol(self) -> String {
        format!("#{}", self.0)
    }
}

/// What a naming template may use beside the cluster.
#[derive(Debug, Clone, Copy)]
pub enum Named<'a> {
    /// The infrastructure cluster or the control plane.
    Cluster,
    /// A machine deployment of this topology name.
    MachineDeployment(&'a str),
    /// A machine pool of this topology name.
    MachinePool(&'a str),
}

/// A name with a random end after a fixed prefix.
pub fn simple(prefix: &str, draw: Draw) -> String {
    format!("{}{}", cut(prefix), draw.symbol())
}

/// A name from a class' naming template, or from the default one.
pub fn from_template(template: &str, cluster: &str, named: Named<'_>, draw: Draw) -> Result<String, String> {
    let name = render(template, cluster, named)?;
    if name.len() > MAX_NAME {
        return Ok(format!("{}{}", cut(&name).replace('\u{1}', ""), draw.symbol()));
    }
    Ok(name.replace(RANDOM, &draw.symbol()))
}

/// A name as the class webhook renders it to see whether it is a valid one.
pub fn sample(template: &str, cluster: &str, named: Named<'_>) -> Result<String, String> {
    render(template, cluster, named).map(|name| name.replace('\u{1}', "x"))
}

fn render(template: &str, cluster: &str, named: Named<'_>) -> Result<String, String> {
    let default = match named {
        Named::Cluster => "{{ .cluster.name }}-{{ .random }}",
        Named::MachineDeployment(_) => {
            "{{ .cluster.name }}-{{ .machineDeployment.topologyName }}-{{ .random }}"
        }
        Named::MachinePool(_) => "{{ .cluster.name }}-{{ .machinePool.topologyName }}-{{ .random }}",
    };
    if template.is_empty() || template == default {
        return Ok(match named {
            Named::Cluster => format!("{cluster}-{RANDOM}"),
            Named::MachineDeployment(name) | Named::MachinePool(name) => {
                format!("{cluster}-{name}-{RANDOM}")
            }
        });
    }
    let mut data = json!({ "cluster": { "name": cluster }, "random": RANDOM });
    match named {
        Named::Cluster => {}
        Named::MachineDeployment(name) => {
            data["machineDeployment"] = json!({ "topologyName": name });
        }
        Named::MachinePool(name) => data["machinePool"] = json!({ "topologyName": name }),
    }
    render_strict(template, &data)
}

/// Renders with Go's `missingkey=error`: a name that is not there fails.
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
