"""Evaluates a template as Azimuth's addon provider does, with its libraries, and prints the YAML documents in it as JSON.

Source: `capi_addons/template.py` of the addon provider.
"""

import json
import sys

import jinja2
import yaml

environment = jinja2.Environment(loader=jinja2.BaseLoader(), autoescape=False)
# Nothing in a template may get to see these.
given = {name: {"metadata": {"name": "changed"}} for name in ("cluster", "infra_cluster", "cloud_identity", "x", "y")}
# Not `sys.stdin`, which takes other characters for line breaks.
template = sys.stdin.buffer.read().decode("utf-8")
text = environment.from_string(template).render(**given)
json.dump([one for one in yaml.safe_load_all(text) if one is not None], sys.stdout)
