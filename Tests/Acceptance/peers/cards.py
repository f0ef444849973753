"""The scripted relay's approvals: how long they live, and who ends them (relay.md#requestapproval)."""

from .rules import USUAL_LIFE


class Cards:
    """A part of `Relay`."""

    def decide(self, approval_id, decision, crosses=False, **fields):
        """Decides an approval: a tap, or with a `reason` the relay's own decision. A tap on an ended card is refused, and the bridge hears
        nothing (None). With `crosses` the tap was already on its way, as on another node of the relay."""
        if "reason" not in fields and self.phone.ends.get(approval_id) and not crosses:
            self.phone.refused.append((approval_id, decision))
            return None
        self.phone.decisions.setdefault(approval_id, []).append(decision)
        body = self.rules.approvals.get(approval_id, {})
        if approval_id in self.phone.approvals:
            self.phone.see("approval_resolved", approval_id=approval_id, decision=decision, reason=fields.get("reason"))
        payload = {"approval_id": approval_id, "decision": decision, **fields}
        return self.push("approval.resolved", payload, body.get("session_id"), body.get("interaction_id"))

    def expire(self, approval_id, reason=None):
        """Expires an unanswered card now. False if it was decided or has ended."""
        if approval_id in self.phone.ends:
            return False
        self.decide(approval_id, "deny", reason=reason or self.expiry_reason)
        return True

    def _asked(self, approval_id):
        """Begins the life of an accepted card, on the scaled clock."""
        if approval_id in self.rules.over:
            self.decide(approval_id, "deny", reason=self.limit_reason)
            return
        life = self.rules.approvals[approval_id].get("expires_in_ms", USUAL_LIFE) / 1000
        self._timers.append(self.clock.later(life, lambda: self.expire(approval_id)))
