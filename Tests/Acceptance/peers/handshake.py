"""Challenge, `connect` and hello-ok of the scripted gateway (openclaw.md#handshake)."""

import base64
import hashlib
import uuid

from . import ed25519
from .schema import METHODS, connect_violation

DETAILS_SINCE = {"AUTH_TOKEN_MISSING": "unauthorized: gateway token missing",
                 "AUTH_TOKEN_MISMATCH": "unauthorized: gateway token mismatch"}


class Refusal(Exception):
    def __init__(self, code, message, close=1008, details=None, **fields):
        super().__init__(message)
        self.code, self.message, self.close, self.details, self.fields = code, message, close, details, fields


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def signed_text(version, params, token):
    device, client = params["device"], params["client"]
    parts = [version, device["id"], client["id"], client["mode"], params.get("role", "operator"),
             ",".join(params.get("scopes", [])), str(device["signedAt"]), token, device["nonce"]]
    if version == "v3":
        parts += [client["platform"].strip().lower(), client.get("deviceFamily", "").strip().lower()]
    return "|".join(parts).encode()


def check_device(gateway, params, nonce):
    """Checks a device in the documented order, and raises the code of the first fault."""
    era, device, auth = gateway.era, params["device"], params.get("auth", {})

    def refuse(code):
        raise Refusal("INVALID_REQUEST", code.lower().replace("_", " "), details={"code": code})

    try:
        public, signature = decode(device["publicKey"]), decode(device["signature"])
    except ValueError:
        refuse("DEVICE_AUTH_PUBLIC_KEY_INVALID")
    if hashlib.sha256(public).hexdigest() != device["id"]:
        refuse("DEVICE_AUTH_DEVICE_ID_MISMATCH")
    if abs(gateway.clock.milliseconds() - device["signedAt"]) > 120_000:
        refuse("DEVICE_AUTH_SIGNATURE_EXPIRED")
    if not device["nonce"]:
        refuse("DEVICE_AUTH_NONCE_REQUIRED")
    if device["nonce"] != nonce:
        refuse("DEVICE_AUTH_NONCE_MISMATCH")
    token = auth.get("token") or auth.get("deviceToken") or ""
    if not any(ed25519.verify(public, signed_text(version, params, token), signature) for version in era.signature_versions):
        refuse("DEVICE_AUTH_SIGNATURE_INVALID")


def check_connect(gateway, params, nonce):
    """Checks `connect`, and returns the socket's scopes."""
    era = gateway.era
    if problem := connect_violation(params):
        raise Refusal("INVALID_REQUEST", problem)
    protocol = gateway.protocol
    if not params["minProtocol"] <= protocol <= params["maxProtocol"]:
        raise Refusal("INVALID_REQUEST", "protocol mismatch", 1002,
                      {"expectedProtocol": protocol, "code": "PROTOCOL_MISMATCH"})
    if gateway.refusals:
        raise gateway.refusals.pop(0)
    auth, device = params.get("auth", {}), params.get("device")
    token = auth.get("token") or auth.get("deviceToken")
    known = {gateway.token} | ({gateway.device_token(device["id"])} if device else set())
    if not token:
        raise Refusal("INVALID_REQUEST", DETAILS_SINCE["AUTH_TOKEN_MISSING"], details={"code": "AUTH_TOKEN_MISSING"})
    if token not in known:
        raise Refusal("INVALID_REQUEST", DETAILS_SINCE["AUTH_TOKEN_MISMATCH"],
                      details={"code": "AUTH_TOKEN_MISMATCH", "canRetryWithDeviceToken": False})
    scopes = params.get("scopes", [])
    if device:
        check_device(gateway, params, nonce)
        if device["id"] not in gateway.paired and not gateway.pairs_silently:
            request = str(uuid.uuid4())
            gateway.to_pair.add(device["id"])
            details = {"requestId": request} | ({} if not era.error_details else {
                "code": "PAIRING_REQUIRED", "reason": "not-paired", "deviceId": device["id"],
                "requestedRole": "operator", "requestedScopes": scopes, "approvedRoles": [], "approvedScopes": [],
                "remediationHint": "Approve this device."})
            raise Refusal("NOT_PAIRED", "pairing required", details=details, keep_details=True)
        gateway.paired.add(device["id"])
        return scopes
    deviceless = params["client"]["id"] == "gateway-client" and params["client"]["mode"] == "backend"
    return scopes if era.keeps_deviceless_scopes and deviceless else []


def hello_ok(gateway, connection, params):
    era = gateway.era
    device = params.get("device")
    # A device on the same machine is accepted without pairing.
    is_paired = bool(device) and (gateway.is_behind_proxy or device["id"] in gateway.to_pair)
    issued = {"deviceToken": gateway.device_token(device["id"]), "issuedAtMs": gateway.clock.milliseconds()} if is_paired else {}
    number = int(era.name[1])
    payload = {
        "type": "hello-ok", "protocol": gateway.protocol,
        "server": {"version": era.version, "connId": str(uuid.uuid4())},
        "features": {
            "methods": [name for name, (_, _, first) in METHODS.items() if first <= number],
            "events": ["connect.challenge", "agent", "chat", "session.message", "session.tool", "sessions.changed",
                       "presence", "tick", "health", "heartbeat", "cron", "shutdown", "exec.approval.requested",
                       "exec.approval.resolved", "plugin.approval.requested", "plugin.approval.resolved"],
        },
        "snapshot": {
            "presence": [], "health": {}, "stateVersion": {"presence": 1, "health": 1},
            "uptimeMs": int((gateway.clock.now() - gateway.started) * 1000),
            "sessionDefaults": {"defaultAgentId": "main", "mainKey": "main", "mainSessionKey": "agent:main:main"},
            "authMode": "token",
        },
        "policy": {"maxPayload": era.max_payload, "maxBufferedBytes": era.max_buffered,
                   "tickIntervalMs": gateway.tick_milliseconds} | (
                       {"attachments": gateway.attachment_policy} if gateway.attachment_policy else {}),
    }
    if era.hello_auth_always or issued:
        payload["auth"] = {"role": "operator", "scopes": connection.scopes, **issued}
    if era.protocol == 3:
        payload["canvasHostUrl"] = f"http://127.0.0.1:{gateway.port}"
    return payload
