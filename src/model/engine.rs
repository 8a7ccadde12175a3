//! The engines that apply the tree: the one list of them, with what definitions need to know of each.
//!
//! What an engine is asked to write is in its folder below `render`.

/// The GitOps engine that reconciles the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Flux,
    ArgoCd,
}

/// What the list says about an engine.
struct Listed {
    /// The name in `engine`.
    word: &'static str,
    /// The product name.
    product: &'static str,
    /// The description that editors show.
    about: &'static str,
    /// The key of the settings that it alone has; none if it has no such settings.
    settings: Option<&'static str>,
    /// Whether it decrypts files itself, with keys in a Secret. Otherwise, a plugin does.
    decrypts: bool,
    /// Whether it can read the fleet through a source object that already exists. Otherwise, it needs an address.
    reads_source_objects: bool,
    /// Whether it refuses the short form of SSH addresses, which has no scheme.
    needs_scheme: bool,
    /// The characters that it does not take literally in the address of a repository.
    special: &'static [char],
    /// The namespaces that it keeps for itself in every management cluster, whatever the settings.
    own_namespaces: &'static [&'static str],
}

impl Engine {
    pub const ALL: [Self; 2] = [Self::Flux, Self::ArgoCd];

    /// The engine of a fleet that names none.
    pub const DEFAULT: Self = Self::Flux;

    /// Looks up the engine with this name in definitions.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.word() == word)
    }

    /// The name in definitions.
    pub fn word(self) -> &'static str {
        self.listed().word
    }

    /// The product name.
    pub fn as_str(self) -> &'static str {
        self.listed().product
    }

    /// The description that editors show.
    pub fn about(self) -> &'static str {
        self.listed().about
    }

    /// The key of the settings that this engine alone has; none if it has no such settings.
    pub fn settings(self) -> Option<&'static str> {
        self.listed().settings
    }

    /// Whether it decrypts files itself, with keys in a Secret. Otherwise, a plugin does.
    pub fn decrypts(self) -> bool {
        self.listed().decrypts
    }

    /// Whether it can read the fleet through a source object that already exists. Otherwise, it needs an address.
    pub fn reads_source_objects(self) -> bool {
        self.listed().reads_source_objects
    }

    /// Whether it refuses the short form of SSH addresses, which has no scheme.
    pub fn needs_scheme(self) -> bool {
        self.listed().needs_scheme
    }

    /// The characters that it does not take literally in the address of a repository.
    pub fn special_in_addresses(self) -> &'static [char] {
        self.listed().special
    }

    /// The namespaces that it keeps for itself in every management cluster, whatever the settings.
    pub fn own_namespaces(self) -> &'static [&'static str] {
        self.listed().own_namespaces
    }

    fn listed(self) -> &'static Listed {
        match self {
            Self::Flux => &Listed {
                word: "flux",
                product: "Flux",
                about: "Flux: Kustomizations and `HelmReleases`.",
                settings: None,
                decrypts: true,
                reads_source_objects: true,
                needs_scheme: true,
                special: &[],
                own_namespaces: &["flux-system"],
            },
            Self::ArgoCd => &Listed {
                word: "argocd",
                product: "Argo CD",
                about: "Argo CD: Applications.",
                settings: Some("argocd"),
                decrypts: false,
                reads_source_objects: false,
                needs_scheme: false,
                // The projects hold patterns, which are changed like addresses before they are read, so nothing can be escaped:
                // `IsSourcePermitted` in `pkg/apis/application/v1alpha1/app_project_types.go` of 3.5.1.
                special: &['*', '[', ']'],
                // Its namespace is a setting.
                own_namespaces: &[],
            },
        }
    }
}
