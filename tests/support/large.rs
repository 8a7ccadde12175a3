//! A large fleet like those of platform teams: this repository's own stacks, three environments with regions, defaults in
//! every folder, twenty teams, and clusters that sometimes differ from their neighbors.

use std::fmt::Write as _;

use stackloom::world::Files;

/// The number of namespaces; each has clusters in every environment.
const TEAMS: usize = 20;

/// The minors used by the clusters.
const MINORS: [&str; 2] = ["1.35", "1.36"];

/// A folder of `clusters/`, and the stack of its clusters.
struct Folder {
    path: &'static str,
    stack: &'static str,
    /// Its share of every ten clusters.
    share: std::ops::Range<usize>,
}

const FOLDERS: [Folder; 4] = [
    Folder { path: "dev", stack: "docker/scs", share: 0..3 },
    Folder { path: "staging", stack: "openstack/scs", share: 3..5 },
    Folder { path: "prod/eu-1", stack: "openstack/scs", share: 5..8 },
    Folder { path: "prod/eu-2", stack: "openstack/scs", share: 8..10 },
];

/// A fleet with this many clusters, all on the head releases of their stacks.
pub(crate) fn large(count: usize) -> Files {
    let mut files = super::fleet(&super::package());
    files.0.retain(|path, _| !path.starts_with("clusters/") || path.ends_with("/_defaults.yaml"));
    for folder in FOLDERS {
        for minor in MINORS {
            let path = format!("clusters/{}/{minor}/_defaults.yaml", folder.path);
            files.0.insert(path, defaults(folder.stack, minor));
        }
    }
    for index in 0..count {
        let folder = FOLDERS.iter().find(|folder| folder.share.contains(&(index % 10)));
        let folder = folder.expect("the shares cover every digit");
        let path = format!("clusters/{}/{}/c-{index:05}", folder.path, MINORS[index / 10 % MINORS.len()]);
        if folder.stack.starts_with("openstack") && index.is_multiple_of(4) {
            files.0.insert(format!("{path}.d/cloud-config.yaml"), cloud_config(index));
        }
        files.0.insert(format!("{path}.yaml"), cluster(index));
    }
    files
}

/// The defaults that select the release for the clusters of a folder.
fn defaults(stack: &str, minor: &str) -> String {
    format!(
        "apiVersion: stackloom.dev/v1alpha1\n\
         kind: ClusterDefaults\n\
         spec:\n\
         \x20 stack: {stack}\n\
         \x20 kubernetes: \"{minor}\"\n\
         \x20 release: head\n"
    )
}

/// The definition of one cluster: short, sometimes with settings of its own.
fn cluster(index: usize) -> String {
    let team = index / 10 % TEAMS;
    let mut text = format!(
        "apiVersion: stackloom.dev/v1alpha1\n\
         kind: ClusterDefinition\n\
         metadata:\n\
         \x20 name: c-{index:05}\n\
         \x20 namespace: team-{team:02}\n\
         \x20 labels:\n\
         \x20   number: \"{index}\"\n\
         spec:\n\
         \x20 nodePools:\n"
    );
    for pool in 0..=index % 3 {
        write!(
            text,
            "\x20   - name: md-{pool}\n\x20     class: default-worker\n\x20     replicas: {}\n",
            index % 7 + 1
        )
        .expect("a string takes every text");
    }
    if index.is_multiple_of(7) {
        write!(text, "\x20 variables:\n\x20   certSANs: [c-{index:05}.example.org]\n")
            .expect("a string takes every text");
    }
    let own = [
        (index.is_multiple_of(11), "\x20   metrics-server:\n\x20     enabled: false\n"),
        (
            index.is_multiple_of(5),
            "\x20   cilium:\n\x20     values:\n\x20       hubble:\n\x20         relay:\n\x20           enabled: true\n",
        ),
    ];
    if own.iter().any(|(differs, _)| *differs) {
        text.push_str("\x20 addons:\n");
        own.iter().filter(|(differs, _)| *differs).for_each(|(_, own)| text.push_str(own));
    }
    text
}

/// An object of a cluster's `.d` folder.
fn cloud_config(index: usize) -> String {
    let team = index / 10 % TEAMS;
    format!(
        "apiVersion: external-secrets.io/v1\n\
         kind: ExternalSecret\n\
         metadata:\n\
         \x20 name: c-{index:05}-cloud-config\n\
         \x20 namespace: team-{team:02}\n\
         spec:\n\
         \x20 refreshInterval: 1h\n\
         \x20 secretStoreRef:\n\
         \x20   kind: ClusterSecretStore\n\
         \x20   name: vault\n\
         \x20 target:\n\
         \x20   name: c-{index:05}-cloud-config\n\
         \x20 data:\n\
         \x20   - secretKey: region\n\
         \x20     remoteRef:\n\
         \x20       key: openstack/team-{team:02}\n\
         \x20       property: region\n"
    )
}
