"""The output of `kubectl apply -k` for an overlay in deploy/kubernetes, as far as these files need it: resources, a namespace, labels,
and generated ConfigMaps and Secrets, whose names end in a hash of their content. Other fields are refused rather than ignored."""

import base64
import copy
import hashlib
import json
import pathlib
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
KNOWN = {"resources", "namespace", "labels", "configMapGenerator", "secretGenerator"}


class Fault(Exception):
    pass


def load(path):
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def kustomization(folder):
    file = folder / "kustomization.yaml"
    (wanted,) = load(file)
    if unknown := set(wanted) - KNOWN:
        raise Fault(f"{file}: {', '.join(unknown)} is not known to this check")
    return wanted


def generated(kind, wanted, folder):
    """A ConfigMap or a Secret made of files, in the order of its keys."""
    data = {name: (folder / name).read_bytes() for name in wanted["files"]}
    digest = hashlib.sha256(b"".join(name.encode() + value for name, value in sorted(data.items()))).hexdigest()
    texts = ({"data": {name: base64.b64encode(value).decode() for name, value in data.items()}, "type": "Opaque"}
             if kind == "Secret" else {"data": {name: value.decode() for name, value in data.items()}})
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"{wanted['name']}-{digest[:10]}"}} | texts, wanted["name"]


def put_labels(document, wanted):
    document["metadata"].setdefault("labels", {}).update(wanted["pairs"])
    if not wanted.get("includeSelectors"):
        return
    if document["kind"] == "StatefulSet":
        document["spec"].setdefault("selector", {}).setdefault("matchLabels", {}).update(wanted["pairs"])
        document["spec"]["template"].setdefault("metadata", {}).setdefault("labels", {}).update(wanted["pairs"])
    elif document["kind"] == "Service":
        document["spec"].setdefault("selector", {}).update(wanted["pairs"])


def refer(document, kind, name, generated_name):
    """Replaces the generator's name in a pod's volumes by the generated name."""
    if document["kind"] != "StatefulSet":
        return
    for volume in document["spec"]["template"]["spec"].get("volumes", []):
        source, key = ("secret", "secretName") if kind == "Secret" else ("configMap", "name")
        if volume.get(source, {}).get(key) == name:
            volume[source][key] = generated_name


def built(folder):
    wanted = kustomization(folder)
    documents = []
    for name in wanted["resources"]:
        path = (folder / name).resolve()
        documents += built(path) if path.is_dir() else load(path)
    documents = copy.deepcopy(documents)
    for kind, field in (("ConfigMap", "configMapGenerator"), ("Secret", "secretGenerator")):
        for generator in wanted.get(field, []):
            made, name = generated(kind, generator, folder)
            for document in documents:
                refer(document, kind, name, made["metadata"]["name"])
            documents.append(made)
    for labels in wanted.get("labels", []):
        for document in documents:
            put_labels(document, labels)
    if "namespace" in wanted:
        for document in documents:
            document["metadata"]["namespace"] = wanted["namespace"]
    return documents


if __name__ == "__main__":
    print(json.dumps(built(pathlib.Path(sys.argv[1]).resolve())))
