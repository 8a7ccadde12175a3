//! Hostile input must end in an error or in "not known". The limits apply to steps and sizes, so no clock is involved. A
//! case that does not end hangs the test; one that recurses too deeply crashes the process.

use capi_topology::import::Objects;
use capi_topology::predict::create;
use capi_topology::testing::json_patch::{self, Path};
use capi_topology::{Catalog, Settings};
use gotmpl::{ErrorKind, Template, yaml};
use serde_json::{Value, json};

fn rendered(source: &str, data: &Value) -> Result<String, ErrorKind> {
    Template::parse(source).map_err(|error| error.kind)?.render(data).map_err(|error| error.kind)
}

#[test]
fn templates_that_never_end_or_grow_without_end_are_stopped() {
    let none = json!({});
    let bombs = [
        "{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}",
        "{{ define \"a\" }}x{{ template \"b\" . }}{{ end }}{{ define \"b\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}",
        "{{ repeat 1000000000 \"x\" }}",
        "{{ repeat 100000 (repeat 100000 \"x\") }}",
        "{{ range until 100000 }}{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}{{ end }}",
        "{{ range untilStep 0 2000000000 1 }}{{ end }}",
        "{{ $x := \"aaaaaaaaaa\" }}{{ range until 64 }}{{ $x = print $x $x }}{{ end }}{{ $x }}",
        "{{ $l := list 1 }}{{ range until 64 }}{{ $l = concat $l $l }}{{ end }}{{ len $l }}",
    ];
    for source in bombs {
        let error = rendered(source, &none).expect_err(source);
        assert!(
            matches!(error, ErrorKind::Limit | ErrorKind::Exec | ErrorKind::Unsupported),
            "{source}: {error:?}"
        );
    }
}

#[test]
fn templates_that_are_odd_end_in_whatever_way() {
    let data = json!({ "long": "a".repeat(1_000_000), "deep": nested(60) });
    let odd = [
        "{{ printf \"%1000000000d\" 1 }}".to_owned(),
        "{{ printf \"%.1000000000f\" 1.0 }}".to_owned(),
        "{{ regexReplaceAll \"(a+)+$\" .long \"b\" | len }}".to_owned(),
        "{{ regexMatch \"(a|a)*b\" .long }}".to_owned(),
        "{{ regexReplaceAll \"((((a{1,100}){1,100}){1,100}){1,100})\" .long \"b\" | len }}".to_owned(),
        "{{ .long | quote | len }}".to_owned(),
        "{{ toJson .deep }}".to_owned(),
        format!("{}1{}", "{{ ".to_owned() + &"(".repeat(20_000), ")".repeat(20_000) + " }}"),
        "{{ if true }}".repeat(20_000) + &"{{ end }}".repeat(20_000),
        format!("{{{{ .{} }}}}", vec!["a"; 50_000].join(".")),
        "{{".repeat(100_000),
    ];
    for source in &odd {
        drop(rendered(source, &data));
    }
}

#[test]
fn yaml_that_explodes_or_nests_without_end_is_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("a{level}: &a{level} [{items}]\n");
    }
    yaml::parse(&bomb).expect_err("a bomb of aliases");
    yaml::parse(&"[".repeat(100_000)).expect_err("brackets without end");
    let maps: Vec<_> = (0..5_000).map(|depth| " ".repeat(depth) + "a:\n").collect();
    yaml::parse(&maps.concat()).expect_err("maps without end");
    drop(yaml::parse(&"- ".repeat(100_000)));
    drop(yaml::parse(&"a: \"".repeat(10_000)));
}

#[test]
fn files_with_too_much_in_them_are_read_or_refused() {
    let mut objects = Objects::default();
    objects.read("many", &"---\n".repeat(200_000)).unwrap();
    let list = "apiVersion: v1\nkind: List\nitems:\n- ".repeat(300);
    drop(objects.read("lists", &list));
    assert!(objects.clusters().is_empty());
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({}), |inner, _| json!({ "a": inner }))
}

fn schema(depth: usize) -> Value {
    (0..depth).fold(
        json!({ "type": "string" }),
        |inner, _| json!({ "type": "object", "properties": { "a": inner } }),
    )
}

fn judged(schema: &Value, value: Option<Value>) -> Vec<String> {
    let path = |kind: &str, name: &str| json!({ "templateRef": { "apiVersion": "x.io/v1", "kind": kind, "name": name } });
    let mut control_plane = path("XControlPlaneTemplate", "c");
    control_plane["machineInfrastructure"] = path("XMachineTemplate", "m");
    let class = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": { "name": "c" },
        "spec": {
            "infrastructure": path("XClusterTemplate", "i"), "controlPlane": control_plane,
            "variables": [{ "name": "v", "required": false, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    let template = |kind: &str, name: &str| {
        json!({
            "apiVersion": "x.io/v1", "kind": kind, "metadata": { "name": name }, "spec": { "template": { "spec": {} } },
        })
    };
    let mut topology = json!({ "classRef": { "name": "c" }, "version": "v1.35.0" });
    if let Some(value) = value {
        topology["variables"] = json!([{ "name": "v", "value": value }]);
    }
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": { "name": "one" }, "spec": { "topology": topology },
    });
    let objects = [
        class,
        template("XClusterTemplate", "i"),
        template("XControlPlaneTemplate", "c"),
        template("XMachineTemplate", "m"),
    ];
    let mut faults = create::apply_classes(&objects, &Catalog::default(), &[]);
    let created = create::create(cluster, &Catalog::new(objects), &Settings::new("1.14").unwrap());
    faults.extend(created.faults);
    let unknown = created.opaque.into_iter().map(|one| one.reason);
    faults.iter().map(ToString::to_string).chain(unknown).collect()
}

/// These values nest more deeply than any file that can be read. Copying and dropping them takes more stack than a test has.
#[test]
fn schemas_a_thousand_levels_deep_are_refused() {
    let judge = || {
        assert!(!judged(&schema(1_000), None).is_empty());
        assert_eq!(judged(&schema(20), Some(nested(20))).len(), 1, "a map where a text is due");
        drop(judged(&schema(20), Some(nested(100))));
    };
    std::thread::Builder::new().stack_size(64 << 20).spawn(judge).unwrap().join().unwrap();
}

/// The class is refused with the limit. The Cluster gets no error about an undefined variable.
#[test]
fn a_schema_deeper_than_is_followed_is_refused_with_the_limit_and_makes_values_unknown() {
    let limit = |one: &&String| one.contains("nests more than 64 levels deep");
    for (value, default, told) in [(None, false, 1), (Some(nested(3)), false, 2), (None, true, 2)] {
        let mut deep = schema(100);
        if default {
            deep["default"] = json!({});
        }
        let judged = judged(&deep, value);
        assert_eq!(judged.iter().filter(limit).count(), told, "{judged:?}");
        assert!(!judged.iter().any(|one| one.contains("not defined")), "{judged:?}");
    }
}

#[test]
fn long_values_are_judged() {
    for (pattern, length) in [("^(a+)+$", 10_000_000), ("^(a|a)*b$", 1_000_000), ("(.*)(.*)(.*)x", 1_000_000)]
    {
        drop(judged(&json!({ "type": "string", "pattern": pattern }), Some(json!("a".repeat(length)))));
    }
    let many = Value::Array((0..20_000).map(Value::from).collect());
    drop(judged(&json!({ "type": "array", "items": { "type": "string" } }), Some(many)));
}

#[test]
fn cel_rules_that_take_too_long_are_refused_and_not_run() {
    let all = "self.all(a, self.all(b, self.all(c, self.all(d, self.all(e, a + b + c + d + e != 'x')))))";
    let inner = json!({
        "type": "object", "properties": { "l": { "type": "array", "items": { "type": "string" },
        "x-kubernetes-validations": [{ "rule": all, "message": "no" }] } },
    });
    let items: Vec<String> = (0..1_000).map(|at| at.to_string()).collect();
    assert!(!judged(&inner, Some(json!({ "l": items }))).is_empty());
    let deep = format!("{}self{} == 'x'", "(".repeat(5_000), ")".repeat(5_000));
    let doubling = format!("({}) == ''", vec!["self"; 5_000].join(" + "));
    for rule in [deep, doubling, "!".repeat(50_000) + "true", "[".repeat(50_000)] {
        let schema =
            json!({ "type": "string", "x-kubernetes-validations": [{ "rule": rule, "message": "no" }] });
        drop(judged(&schema, Some(json!("a".repeat(1_000)))));
    }
}

#[test]
fn json_patches_with_endless_paths_are_refused() {
    let mut document = json!({ "spec": {} });
    let path = Path::new(&"/a".repeat(200_000));
    json_patch::apply(&mut document, "add", &path, Some(json!(1))).expect_err("a path to nowhere");
    let mut list = json!({ "l": [] });
    for index in ["99999999999999999999", "-1", "1", "-99999999999999999999"] {
        json_patch::apply(&mut list, "replace", &Path::new(&format!("/l/{index}")), Some(json!(1)))
            .expect_err(index);
    }
}
