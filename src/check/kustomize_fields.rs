//! The fields of a kustomize file with their forms, as data.
//!
//! They come from the type `Kustomization` of kustomize's API. What a file must say beyond the forms is not here.

/// The form of a value. Null stands for the empty value of every form.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Any,
    Text,
    /// One of these words, or no text at all.
    Word(&'static [&'static str]),
    /// True or false.
    Flag,
    /// A whole number.
    Whole,
    /// A map of text.
    Texts,
    /// A map of text that becomes labels of objects.
    Labels,
    /// A map of text that becomes annotations of objects.
    Annotations,
    /// A map of flags.
    Flags,
    /// A map with these fields.
    Map(&'static [Field]),
    /// A list of such values.
    List(&'static Form),
}

use Form::{Annotations, Any, Flag, Flags, Labels, List, Map, Text, Texts, Whole, Word};

pub(super) type Field = (&'static str, Form);

/// The fields of a kustomize file.
pub(super) const FIELDS: &[Field] = &[
    ("apiVersion", Text),
    ("bases", PATHS),
    ("buildMetadata", List(&Word(&["managedByLabel", "originAnnotations", "transformerAnnotations"]))),
    ("commonAnnotations", Annotations),
    ("commonLabels", Labels),
    ("components", PATHS),
    ("configMapGenerator", List(&Map(CONFIG_MAP))),
    ("configurations", PATHS),
    ("crds", PATHS),
    ("generatorOptions", GENERATOR_OPTIONS),
    ("generators", PATHS),
    ("helmChartInflationGenerator", List(&Map(OLD_CHART))),
    ("helmCharts", List(&Map(CHART))),
    ("helmGlobals", Map(&[("chartHome", Text), ("configHome", Text)])),
    ("imageTags", IMAGES),
    ("images", IMAGES),
    ("kind", Text),
    ("labels", List(&Map(LABEL))),
    ("metadata", Map(METADATA)),
    ("namePrefix", Text),
    ("nameSuffix", Text),
    ("namespace", Text),
    ("openapi", Texts),
    ("patches", List(&Map(PATCH))),
    ("patchesJson6902", List(&Map(PATCH))),
    ("patchesStrategicMerge", PATHS),
    ("replacements", List(&Map(REPLACEMENT))),
    ("replicas", List(&Map(&[("count", Whole), ("name", Text)]))),
    ("resources", PATHS),
    ("secretGenerator", List(&Map(SECRET))),
    ("sortOptions", Map(SORT_OPTIONS)),
    ("transformers", PATHS),
    ("validators", PATHS),
    ("vars", List(&Map(VARIABLE))),
];

const PATHS: Form = List(&Text);
const BEHAVIOR: Form = Word(&["create", "merge", "replace"]);
const IMAGES: Form =
    List(&Map(&[("digest", Text), ("name", Text), ("newName", Text), ("newTag", Text), ("tagSuffix", Text)]));

const METADATA: &[Field] = &[("annotations", Texts), ("labels", Texts), ("name", Text), ("namespace", Text)];

const GENERATOR_OPTIONS: Form = Map(&[
    ("annotations", Annotations),
    ("disableNameSuffixHash", Flag),
    ("immutable", Flag),
    ("labels", Labels),
]);

const CONFIG_MAP: &[Field] = &[
    ("behavior", BEHAVIOR),
    ("env", Text),
    ("envs", PATHS),
    ("files", PATHS),
    ("literals", PATHS),
    ("name", Text),
    ("namespace", Text),
    ("options", GENERATOR_OPTIONS),
];

const SECRET: &[Field] = &[
    ("behavior", BEHAVIOR),
    ("env", Text),
    ("envs", PATHS),
    ("files", PATHS),
    ("literals", PATHS),
    ("name", Text),
    ("namespace", Text),
    ("options", GENERATOR_OPTIONS),
    ("type", Text),
];

const LABEL: &[Field] = &[
    ("fields", List(&Map(PLACE))),
    ("includeSelectors", Flag),
    ("includeTemplates", Flag),
    ("pairs", Labels),
];

/// A field of some objects.
const PLACE: &[Field] =
    &[("create", Flag), ("group", Text), ("kind", Text), ("path", Text), ("version", Text)];

const PATCH: &[Field] = &[("options", Flags), ("patch", Text), ("path", Text), ("target", Map(SELECTOR))];

const SELECTOR: &[Field] = &[
    ("annotationSelector", Text),
    ("group", Text),
    ("kind", Text),
    ("labelSelector", Text),
    ("name", Text),
    ("namespace", Text),
    ("version", Text),
];

const REPLACEMENT: &[Field] = &[
    ("path", Text),
    ("source", Map(REPLACEMENT_SOURCE)),
    ("sourceValue", Text),
    ("targets", List(&Map(REPLACEMENT_TARGET))),
];

const REPLACEMENT_SOURCE: &[Field] = &[
    ("fieldPath", Text),
    ("group", Text),
    ("kind", Text),
    ("name", Text),
    ("namespace", Text),
    ("options", REPLACEMENT_OPTIONS),
    ("version", Text),
];

const REPLACEMENT_TARGET: &[Field] = &[
    ("fieldPaths", PATHS),
    ("options", REPLACEMENT_OPTIONS),
    ("reject", List(&Map(SELECTOR))),
    ("select", Map(SELECTOR)),
];

const REPLACEMENT_OPTIONS: Form =
    Map(&[("create", Flag), ("delimiter", Text), ("encoding", Text), ("index", Whole)]);

const SORT_OPTIONS: &[Field] = &[
    ("legacySortOptions", Map(&[("orderFirst", PATHS), ("orderLast", PATHS)])),
    ("order", Word(&["fifo", "legacy"])),
];

const VARIABLE: &[Field] = &[
    // Kustomize's own documents have it in both spellings.
    ("fieldref", Map(&[("fieldPath", Text), ("fieldpath", Text)])),
    ("name", Text),
    ("objref", Map(REFERENCE)),
];

const REFERENCE: &[Field] = &[
    ("apiVersion", Text),
    ("group", Text),
    ("kind", Text),
    ("name", Text),
    ("namespace", Text),
    ("version", Text),
];

const CHART: &[Field] = &[
    ("additionalValuesFiles", PATHS),
    ("apiVersions", PATHS),
    ("debug", Flag),
    ("devel", Flag),
    ("includeCRDs", Flag),
    ("kubeVersion", Text),
    ("name", Text),
    ("nameTemplate", Text),
    ("namespace", Text),
    ("releaseName", Text),
    ("repo", Text),
    ("skipHooks", Flag),
    ("skipTests", Flag),
    ("valuesFile", Text),
    ("valuesInline", Any),
    ("valuesMerge", Text),
    ("version", Text),
];

const OLD_CHART: &[Field] = &[
    ("chartHome", Text),
    ("chartName", Text),
    ("chartRepoName", Text),
    ("chartRepoUrl", Text),
    ("chartVersion", Text),
    ("extraArgs", PATHS),
    ("helmBin", Text),
    ("helmHome", Text),
    ("releaseName", Text),
    ("releaseNamespace", Text),
    ("values", Text),
    ("valuesLocal", Any),
    ("valuesMerge", Text),
];
