//! Fuzz target for Go templates. The input is a template and its data as JSON. The output is read as YAML, like the value of
//! a patch.

use gotmpl::{Template, yaml};
use serde_json::{Value, json};

use super::input;

/// Runs one input.
pub(crate) fn run(bytes: &[u8]) {
    let Some([source, data]) = input::parts(bytes) else { return };
    let data = input::json(data).filter(Value::is_object).unwrap_or_else(|| json!({}));
    let Ok(template) = Template::parse(source) else { return };
    let text = template.render(&data);
    assert_eq!(text, template.render(&data), "a second rendering differs");
    if let Some(reads) = template.reads() {
        let mut more = data.clone();
        more["fuzz of fuzz"] = json!([{}]);
        assert!(
            reads.look_up(|name| data.get(name)).eq(reads.look_up(|name| more.get(name))),
            "a path leads to something that the template does not look at"
        );
        assert_eq!(text, template.render(&more), "the template looks at something that no path leads to");
    }
    if let Ok(text) = text {
        drop(yaml::parse(&text));
    }
    drop(yaml::parse(source));
}
