package import BridgeModel

// Approvals in both shapes (openclaw.md#approvals).
extension ScriptedGateway {
    mutating func ask(_ run: String, _ id: String, _ command: String, at now: Instant) {
        guard let asking = runs[run] else { return }
        let created = milliseconds(now)
        var approval = GatewayApproval(
            id: id, run: run, session: asking.session, command: command, createdAtMilliseconds: created,
            expiresAtMilliseconds: created + era.approvalLifeMilliseconds)
        if asking.detaches {
            approval.followUp =
                asking.steps.filter { step in
                    if case .toolReturns = step.step { false } else { true }
                }[...]
        } else {
            runs[run]?.state = .held(approval: id)
        }
        approvals[id] = approval
        schedule(.expires(approval: id), after: .milliseconds(Int64(era.approvalLifeMilliseconds)), at: now)
        broadcast("exec.approval.requested", shown(approval), mayDrop: true)
        guard asking.detaches else { return }
        let call = Self.call(of: asking)
        let details: GatewayValue = [
            "status": "approval-pending", "approvalId": "\(id)", "approvalSlug": .text(String(id.prefix(8))),
            "host": "gateway", "command": "\(command)",
        ]
        let result: GatewayValue = [
            "content": [["type": "text", "text": "Approval required (id \(id))."]], "details": details,
        ]
        tool(
            run,
            ([
                "phase": "result", "name": "exec", "toolCallId": "\(call)", "meta": "\(command)", "isError": false,
            ] as GatewayValue)
            .with("result", era.showsToolResults ? result : nil))
        if era.hasItems {
            agent(
                run, "approval",
                [
                    "phase": "requested", "kind": "exec", "status": "pending", "title": "Command approval requested",
                    "itemId": "command:\(call)", "toolCallId": "\(call)", "approvalId": "\(id)",
                    "approvalSlug": .text(String(id.prefix(8))), "command": "\(command)", "host": "gateway",
                    "message": "",
                ])
        }
        items(
            run, call, phase: "end", status: "blocked",
            more: [
                "approvalId": "\(id)", "approvalSlug": .text(String(id.prefix(8))),
                "summary": "Waiting for approval.",
            ])
        // What is left of the script belongs to the follow-up.
        runs[run]?.steps = []
        if era.silencesDetached {
            runs[run]?.segment += asking.saysWhenDetached
        } else {
            say(run, asking.saysWhenDetached, at: now)
        }
        finish(run, withMessage: true, at: now)
    }

    /// The call whose return the script has still to send.
    private static func call(of run: GatewayRun) -> String {
        for step in run.steps { if case .toolReturns(let id, _) = step.step { return id } }
        return "call"
    }

    private func shown(_ approval: GatewayApproval) -> GatewayValue {
        let place = place(of: approval)
        func text(_ value: String?) -> GatewayValue { value.map { .text($0) } ?? .null }
        var request: GatewayValue = [
            "command": "\(approval.command)", "cwd": text(place.cwd), "host": place.nodeId == nil ? "gateway" : "node",
            "nodeId": text(place.nodeId), "agentId": "main", "resolvedPath": text(place.resolvedPath),
            "sessionKey": "\(approval.session)", "security": "full", "ask": "always", "systemRunBinding": .null,
            "systemRunPlan": .null, "turnSourceChannel": "webchat", "turnSourceTo": .null,
            "turnSourceAccountId": .null, "turnSourceThreadId": .null,
        ]
        if era != .e1 { request = request.with("allowedDecisions", ["allow-once", "allow-always", "deny"]) }
        if era.isNew {
            request = request.with(["commandAnalysis": .null, "unavailableDecisions": [], "warningText": .null])
        }
        request = request.with("commandArgv", place.commandArgv.map { .array($0.map { .text($0) }) })
        return [
            "id": "\(approval.id)", "request": request, "createdAtMs": .integer(approval.createdAtMilliseconds),
            "expiresAtMs": .integer(approval.expiresAtMilliseconds),
        ]
    }

    private func place(of approval: GatewayApproval) -> GatewayPlace { places[approval.command] ?? GatewayPlace() }

    func openApprovals(plugins: Bool, at now: Instant) -> GatewayValue {
        let open = approvals.values.filter { $0.decision == nil && !plugins }.sorted { $0.id < $1.id }
        return .array(open.map(shown))
    }

    mutating func resolve(_ request: String, _ id: String, _ decision: String, isNewest: Bool, at now: Instant) {
        decisions.append(decision)
        guard ["allow-once", "allow-always", "deny"].contains(decision) else {
            breaches.append("decision \(decision)")
            return refuse(request, "INVALID_REQUEST", "invalid decision")
        }
        guard let approval = approvals[id] else { return refuseUnknown(request) }
        if let made = approval.decision {
            guard isNewest else { return refuseUnknown(request) }
            let isCancelled = made == "cancelled"
            let status: GatewayValue = isCancelled ? "cancelled" : made == "deny" ? "denied" : "allowed"
            let recorded = (["id": "\(id)", "status": status] as GatewayValue)
                .with("decision", isCancelled ? nil : "\(made)")
                .with("reason", isCancelled ? "gateway-restart" : "user")
            return answer(request, ["applied": false, "approval": recorded])
        }
        if decision != "deny" {
            let place = place(of: approval)
            executed.append(
                AgentExecuted(
                    id, command: place.commandArgv == nil ? approval.command : nil, arguments: place.commandArgv,
                    folder: place.cwd, node: place.nodeId))
        }
        decide(id, decision, by: "Test bridge", at: now)
        answer(
            request,
            isNewest
                ? ["applied": true, "approval": ["id": "\(id)", "status": decision == "deny" ? "denied" : "allowed"]]
                : ["ok": true])
    }

    private mutating func refuseUnknown(_ request: String) {
        refuse(request, era == .e4 ? "APPROVAL_NOT_FOUND" : "INVALID_REQUEST", "unknown or expired approval id")
    }

    /// Another client may decide, too.
    package mutating func otherClientDecides(_ id: String, _ decision: String, at now: Instant) {
        clock = now
        if approvals[id]?.decision == nil { decide(id, decision, by: "Somebody else", at: now) }
    }

    private mutating func decide(_ id: String, _ decision: String, by name: String, at now: Instant) {
        guard let approval = approvals[id] else { return }
        approvals[id]?.decision = decision
        broadcast(
            "exec.approval.resolved",
            [
                "id": "\(id)", "decision": "\(decision)", "resolvedBy": "\(name)", "ts": wall(now),
                "request": shown(approval)["request"] ?? .null,
            ], mayDrop: true)
        goOn(after: approval, denied: decision == "deny", at: now)
    }

    /// Expiry sends no event (openclaw.md#approvals).
    mutating func expire(_ id: String, at now: Instant) {
        guard let approval = approvals[id], approval.decision == nil else { return }
        approvals[id] = nil
        goOn(after: approval, denied: true, at: now)
    }

    private mutating func goOn(after approval: GatewayApproval, denied: Bool, at now: Instant) {
        if approval.followUp != nil {
            approvals[approval.id] = approvals[approval.id] ?? approval
            return schedule(.followUp(approval: approval.id), after: .milliseconds(1_900), at: now)
        }
        guard case .held = runs[approval.run]?.state else { return }
        runs[approval.run]?.state = .active
        if denied, let run = runs[approval.run], case .toolReturns(let call, _)? = run.steps.first?.step {
            runs[approval.run]?.steps.removeFirst()
            toolReturns(approval.run, call, "Denied.", failed: true, ran: false)
            if era.isNew {
                agent(
                    approval.run, "approval",
                    [
                        "phase": "resolved", "kind": "exec", "status": "denied", "title": "Command approval resolved",
                        "itemId": "command:\(call)", "toolCallId": "\(call)", "message": "\(approval.command)",
                    ])
            }
        }
        scheduleNext(approval.run, at: now)
    }

    /// Its key is its run id, so that clients need not guess (openclaw.md#approvals).
    mutating func beginFollowUp(of id: String, at now: Instant) {
        guard let approval = approvals[id], let steps = approval.followUp else { return }
        let name: String
        switch era {
        // It comes with a heartbeat, under a name that nobody can know.
        case .e1: name = "5d1f6f0e-heartbeat-\(id)"
        case .e2: name = "exec-approval-followup:\(id)"
        case .e3, .e4: name = "exec-approval-followup:\(id):nonce:x4"
        }
        guard runs[name] == nil else { return }
        runs[name] = GatewayRun(id: name, session: approval.session, question: nil, steps: steps, detaches: false)
        keys[name] = now
        begin(name, at: now)
    }
}
