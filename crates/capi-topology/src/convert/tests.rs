//! Conversions, compared with the API server's results for the same objects.

use super::*;

fn yaml(text: &str) -> Value {
    gotmpl::yaml::parse(text).unwrap()
}

#[test]
fn objects_of_the_current_version_stay_unchanged() {
    for text in [
        "{ apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, spec: { paused: false } }",
        "{ apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Cluster, spec: { paused: false } }",
        "{ apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: XMachineTemplate }",
    ] {
        assert_eq!(*to_stored(&yaml(text)).unwrap(), yaml(text));
    }
}

#[test]
fn a_duration_is_a_number_of_whole_seconds() {
    let config = |duration: &str| {
        let text = format!(
            "{{ apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfig, spec: {{ joinConfiguration: \
             {{ discovery: {{ timeout: {duration} }} }} }} }}"
        );
        let object = yaml(&text);
        let stored = to_stored(&object)?;
        Ok(stored["spec"]["joinConfiguration"]["timeouts"]["tlsBootstrapSeconds"].clone())
    };
    assert_eq!(config("1m1.9s"), Ok(json!(61)));
    assert_eq!(config("1000000h"), Ok(json!(i32::MAX)));
    assert_eq!(config("5 minutes"), Err("`5 minutes` is not a duration".to_owned()));
}
