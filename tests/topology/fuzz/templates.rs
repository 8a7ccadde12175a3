//! Go templates: a template, and its data as JSON. The output is read as YAML, as the value of a patch is.

use serde_json::{Value, json};
use stackloom::topology::gotemplate::{Template, yaml};

use super::input;

/// One input.
pub(crate) fn run(bytes: &[u8]) {
    let Some([source, data]) = input::parts(bytes) else { return };
    let data = input::json(data).filter(Value::is_object).unwrap_or_else(|| json!({}));
    let Ok(template) = Template::parse(source) else { return };
    let text = template.render(&data);
    assert_eq!(text, template.render(&data), "a second rendering differs");
    let key = |data: &Value| template.reads()?.key(|name| data.get(name));
    if let Some(known) = key(&data) {
        // What is not in the key is not looked at.
        let mut more = data.clone();
        more["fuzz of fuzz"] = json!([{}]);
        assert_eq!(
            Some(known),
            key(&more),
            "the key has something in it that no path of the template leads to"
        );
        assert_eq!(text, template.render(&more), "something counts that is not in the key");
    }
    if let Ok(text) = text {
        drop(yaml::parse(&text));
    }
    drop(yaml::parse(source));
}
