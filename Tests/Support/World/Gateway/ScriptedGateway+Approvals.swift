package import Vocabulary

// Approvals in both shapes (openclaw.md#approvals).
extension ScriptedGateway {
    mutating func ask(_ run: String, _ id: String, _ command: String, at now: Instant) {
        guard let asking = runs[run] else { return }
        let created = milliseconds(now)
        var place = places[command] ?? GatewayPlace()
        // In early eras no plug-in asks. E1 has no list of approvals, so nobody would ever see the other ask.
        if place.trick == .plugin && !era.isNew || place.trick == .another && era == .e1 { place.trick = nil }
        let life = place.trick == .plugin ? 600_000 : era.approvalLifeMilliseconds
        let name = id
        let id = place.trick == .plugin ? "plugin:\(id)" : id
        var approval = GatewayApproval(
            id: id, name: name, run: run, session: asking.session, command: command, place: place,
            createdAtMilliseconds: created, expiresAtMilliseconds: created + life)
        let detaches = asking.detaches && !approval.isPlugin
        if detaches {
            approval.commandTakes = asking.commandTakes
            approval.notice = era == .e1 ? asking.notice : nil
            approval.followUp =
                asking.steps.filter { step in
                    if case .toolReturns = step.step { false } else { true }
                }[...]
        } else {
            runs[run]?.state = .held(approval: id)
        }
        approvals[id] = approval
        schedule(.expires(approval: id), after: .milliseconds(Int64(life)), at: now)
        broadcast("\(approval.kind).approval.requested", shown(approval), mayDrop: true)
        guard detaches else { return }
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
                "title": "\(command)", "meta": "\(command)", "approvalId": "\(id)",
                "approvalSlug": .text(String(id.prefix(8))), "summary": "Waiting for approval.",
            ])
        // The rest of the script belongs to the follow-up.
        runs[run]?.steps = []
        say(run, asking.saysWhenDetached, at: now)
        finish(run, withMessage: true, at: now)
    }

    /// The call whose result the script has yet to send.
    private static func call(of run: GatewayRun) -> String {
        for step in run.steps { if case .toolReturns(let id, _) = step.step { return id } }
        return "call"
    }

    private func shown(_ approval: GatewayApproval) -> GatewayValue {
        [
            "id": "\(approval.id)", "request": approval.isPlugin ? pluginRequest(approval) : request(approval),
            "createdAtMs": .integer(approval.createdAtMilliseconds),
            "expiresAtMs": .integer(approval.expiresAtMilliseconds),
        ]
    }

    private func request(_ approval: GatewayApproval) -> GatewayValue {
        let (place, command) = (approval.place, approval.command)
        func text(_ value: String?) -> GatewayValue { value.map { .text($0) } ?? .null }
        var request: GatewayValue = [
            "command": "\(command)", "cwd": text(place.cwd), "host": place.nodeId == nil ? "gateway" : "node",
            "nodeId": text(place.nodeId), "agentId": "main", "resolvedPath": text(place.resolvedPath),
            "sessionKey": "\(approval.session)", "security": "full", "ask": "always", "systemRunBinding": .null,
            "systemRunPlan": .null, "turnSourceChannel": "webchat", "turnSourceTo": .null,
            "turnSourceAccountId": .null, "turnSourceThreadId": .null,
        ]
        if era != .e1 { request = request.with("allowedDecisions", ["allow-once", "allow-always", "deny"]) }
        if era.isNew {
            request = request.with(["commandAnalysis": .null, "unavailableDecisions": [], "warningText": .null])
        }
        let argued = request.with("commandArgv", place.commandArgv.map { .array($0.map { .text($0) }) })
        switch place.trick {
        case .plan: return argued.with("systemRunPlan", place.plan(command, session: approval.session))
        case .unknownFields: return argued.with("runsWith", GatewayPlace.more)
        case .plugin, .another, nil: return argued
        }
    }

    private func pluginRequest(_ approval: GatewayApproval) -> GatewayValue {
        [
            "title": "Water the beans?", "description": "It is safe.\nFolder: /srv/safe", "severity": "info",
            "pluginId": "garden-tools", "toolName": "deploy", "agentId": "main", "sessionKey": "\(approval.session)",
            "detail": GatewayPlace.detail(approval.command),
        ]
    }

    func openApprovals(plugins: Bool, at now: Instant) -> GatewayValue {
        let open = approvals.values.filter { $0.decision == nil && plugins == $0.isPlugin }.sorted { $0.id < $1.id }
        return .array(open.map(shown))
    }

    /// `kind` comes from the method's name, or from the parameters of `approval.resolve`.
    mutating func resolve(
        _ request: String, _ id: String, _ decision: String, kind: String, isNewest: Bool, at now: Instant
    ) {
        decisions.append(decision)
        guard ["allow-once", "allow-always", "deny"].contains(decision) else {
            breaches.append("decision \(decision)")
            return refuse(request, "INVALID_REQUEST", "invalid decision")
        }
        guard let approval = approvals[id], approval.kind == kind else { return refuseUnknown(request) }
        if let made = approval.decision {
            guard isNewest else { return refuseUnknown(request) }
            let isCancelled = made == "cancelled"
            let status: GatewayValue = isCancelled ? "cancelled" : made == "deny" ? "denied" : "allowed"
            let recorded = (["id": "\(id)", "status": status] as GatewayValue)
                .with("decision", isCancelled ? nil : "\(made)")
                .with("reason", isCancelled ? "gateway-restart" : "user")
            return answer(request, ["applied": false, "approval": recorded])
        }
        if decision != "deny", approval.place.trick == .another { return askForAnother(approval, at: now) }
        if decision != "deny" { executed.append(approval.place.executes(approval.command, as: approval.name)) }
        decide(id, decision, by: "Test bridge", at: now)
        answer(
            request,
            isNewest
                ? ["applied": true, "approval": ["id": "\(id)", "status": decision == "deny" ? "denied" : "allowed"]]
                : ["ok": true])
    }

    /// The connection drops before the answer to the yes, and the list then has another ask under the same id.
    private mutating func askForAnother(_ approval: GatewayApproval, at now: Instant) {
        approvals[approval.id]?.command = AskTricks.another(than: approval.command)
        approvals[approval.id]?.name += "-2"
        approvals[approval.id]?.place.trick = nil
        close(1001, "", at: now)
    }

    private mutating func refuseUnknown(_ request: String) {
        refuse(request, era == .e4 ? "APPROVAL_NOT_FOUND" : "INVALID_REQUEST", "unknown or expired approval id")
    }

    /// Another client decides.
    package mutating func otherClientDecides(_ id: String, _ decision: String, at now: Instant) {
        clock = now
        if approvals[id]?.decision == nil { decide(id, decision, by: "Somebody else", at: now) }
    }

    private mutating func decide(_ id: String, _ decision: String, by name: String, at now: Instant) {
        guard let approval = approvals[id] else { return }
        approvals[id]?.decision = decision
        broadcast(
            "\(approval.kind).approval.resolved",
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
            let pause = denied ? .milliseconds(1_900) : approval.commandTakes
            if !denied, approval.notice != nil {
                schedule(.notice(approval: approval.id), after: .seconds(10), at: now)
            }
            return schedule(.followUp(approval: approval.id), after: pause, at: now)
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

    /// The run id of a follow-up is also its key, so clients need not guess (openclaw.md#approvals).
    mutating func beginFollowUp(of id: String, at now: Instant) {
        guard let approval = approvals[id], let steps = approval.followUp else { return }
        let name: String
        switch era {
        // A heartbeat carries the follow-up, under a random name.
        case .e1: name = "5d1f6f0e-heartbeat-\(id)"
        case .e2: name = "exec-approval-followup:\(id)"
        case .e3, .e4: name = "exec-approval-followup:\(id):nonce:x4"
        }
        guard runs[name] == nil else { return }
        let question = approval.notice.map { _ in Self.completion }
        runs[name] = GatewayRun(id: name, session: approval.session, question: question, steps: steps, detaches: false)
        keys[name] = now
        begin(name, at: now)
    }

    private static let completion = "An async command you ran earlier has completed. The result is shown above."
    private static let heartbeat = "Read HEARTBEAT.md if it exists. If nothing needs attention, reply HEARTBEAT_OK."

    mutating func beginNotice(of id: String, at now: Instant) {
        guard let approval = approvals[id], let notice = approval.notice else { return }
        let name = "4c2e8a91-heartbeat-\(id)"
        let steps = GatewayScript((60, .says(notice)), (60, .finishes)).steps
        runs[name] = GatewayRun(
            id: name, session: approval.session, question: Self.heartbeat, steps: steps[...], detaches: false)
        keys[name] = now
        begin(name, at: now)
    }
}
