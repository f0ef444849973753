package import AgentKit
import JSONReading
import Vocabulary

// Orders of chats and permissions, and the results of works.
extension OppiMachine {
    mutating func change(
        _ session: AgentSession, _ now: Occasion, _ body: (inout OppiChat) -> [OppiChat.Order]
    ) {
        let epoch = server.epoch ?? now.now - .milliseconds(now.wallMilliseconds)
        let (isUp, isHead, stopping) = (life.isLive, main.isHead, main.stopping)
        let chatOrders = chats.change(session) { chat in
            chat.link.epoch = epoch
            chat.link.isUnread(now.unread, at: now.read)
            chat.link.isUp = isUp
            if isHead { chat.link.isHead = true }
            chat.link.givesPlace = chat.place.map { stopping.contains($0.native) } ?? false
            return body(&chat) + chat.keepLimit(at: now.read)
        }
        for order in chatOrders { carryOut(order, of: session, now) }
    }

    private mutating func carryOut(_ order: OppiChat.Order, of session: AgentSession, _ now: Occasion) {
        switch order {
        case .open:
            guard let token = access.token else { return }
            let plan = settings.trusting(access.pin).streamPlan(token)
            orders.append(.open(chats.opens(session), .socket(plan)))
        case .close(let reason):
            guard let channel = chats.channel(of: session) else { return }
            chats.ended(channel)
            orders.append(.close(channel, .socket(code: 1000, reason: reason)))
        case .send(let frame):
            if let channel = chats.channel(of: session) { orders.append(.send(channel, frame)) }
        case .call(let call): self.call(call, of: session, now)
        case .load(let run, let files): orders += loads.begin(run, files)
        case .keep(let place):
            work(.keep(session, place), .keep([Fact(OppiPlace.factPrefix + session.text, place.fact)]))
        case .forget: work(.forget, .keep([Fact(OppiPlace.factPrefix + session.text, nil)]))
        case .observed(let observations):
            notesEnds(observations, of: session, now)
            orders.append(.observed(observations))
        case .note(let words): orders.append(.note(.words(words)))
        case .follow: follow(session)
        case .list: list(now)
        case .denyAll: denyAll(of: session, now)
        case .makeRoom(let stopped):
            if let work = room(for: session) {
                self.work(.places(for: session, without: stopped), work)
            }
        }
    }

    /// Follows the session's notifications while its chat is at rest.
    mutating func follow(_ session: AgentSession) {
        guard life.isLive, let place = chats.place(of: session) else { return }
        main.follows += 1
        let request = "follow-\(main.follows)"
        if let left = main.followed.add(place.native) {
            orders.append(.send(Self.mainChannel, OppiFrames.unsubscribe(left, request)))
        }
        orders.append(
            .send(Self.mainChannel, OppiFrames.subscribe(place.native, isFull: false, since: nil, request)))
    }

    private mutating func call(_ call: OppiChat.Call, of session: AgentSession, _ now: Occasion) {
        let path = chats.place(of: session)?.path ?? ""
        switch call {
        case .makeSession:
            guard case .workspace(let id) = server.choice(settings.workspace) else {
                // A person may have made a workspace meanwhile.
                return work(.place(for: session), rest.get(OppiServer.path(.workspaces)))
            }
            work(.make(session, workspace: id), rest.post("/workspaces/\(id)/sessions", Array("{}".utf8)))
        case .events(let since): work(.call(session, call), rest.get("\(path)/events?since=\(since)"))
        // Both names of the parameter: the seed's documents have the other one.
        case .trace, .mirror: work(.call(session, call), rest.get("\(path)?view=full&traceView=full", isLong: true))
        }
    }

    // MARK: Works

    package mutating func finished(_ work: WorkID, _ result: WorkResult, _ now: Occasion) -> [AgentOrder] {
        switch loads.finished(work, result, at: now.now) {
        case .foreign: break
        case .more(let orders): return orders
        case .loaded(let loaded):
            guard let session = chats.session(toWrite: loaded.run) else { return [] }
            change(session, now) { $0.loaded(loaded, at: now.read) }
            return takeOrders()
        case .unreadable(let run, let sentence):
            guard let session = chats.session(toWrite: run) else { return [] }
            change(session, now) { $0.leavesOut(run, .notSent(sentence: sentence), at: now.read) }
            return takeOrders()
        }
        if let finished = errands.finished(work) { take(result, of: finished, now) }
        startWorks()
        return takeOrders()
    }

    private mutating func take(_ result: WorkResult, of finished: OppiErrands<Errand>.Finished, _ now: Occasion) {
        switch finished.errand {
        case .access(let beginning):
            if let step = access.finished(result, of: beginning, with: parser) { take(step, now) }
        case .keep(let session, let place):
            let isKept = if case .done = result { true } else { false }
            // A store that a later one overtook does not settle that one.
            change(session, now) { $0.home == .keeping(place) ? $0.kept(isKept, at: now.read) : [] }
        case .forget: break
        case .ask, .list, .place, .make, .call, .models, .places, .stop:
            let answer = OppiRest.answer(result, with: parser)
            if answer.isUnauthorised { refusedToken(finished, now) } else { answered(finished.errand, answer, now) }
        }
    }

    private mutating func refusedToken(_ finished: OppiErrands<Errand>.Finished, _ now: Occasion) {
        // An answer to the former link does not concern the current token.
        if finished.isOfThisLink, life.hasSocket { unauthorised(now) }
        switch finished.errand {
        case .models(let query): orders.append(.replied(query, .refused(message: "the token was refused")))
        case .place(let session), .make(let session, _): change(session, now) { $0.hasNoHome(at: now.read) }
        case .stop(let native, _): main.stopping.remove(native)
        case .access, .ask, .list, .keep, .forget, .call, .places: break
        }
    }

    private mutating func answered(_ errand: Errand, _ answer: OppiRest.Answer, _ now: Occasion) {
        switch errand {
        case .access, .keep, .forget: break
        case .ask(let question): answered(question, answer, now)
        case .list: listed(answer, now)
        case .place(let session):
            guard case .body(let body) = answer, OppiServer.isAnswer(body, to: .workspaces) else {
                let reason = if case .body = answer { "it sent no list of workspaces" } else { answer.words }
                return change(session, now) { $0.madeSession(.failed(reason), workspace: "", at: now.read) }
            }
            server.take(.workspaces, body, at: now.now)
            if case .none(let sentence) = server.choice(settings.workspace) {
                change(session, now) { $0.hasNoWorkspace(sentence, at: now.read) }
            } else {
                call(.makeSession, of: session, now)
            }
        case .make(let session, let workspace):
            change(session, now) { $0.madeSession(answer, workspace: workspace, at: now.read) }
        case .call(_, .makeSession): break
        case .call(let session, .events): change(session, now) { $0.missed(answer, at: now.read) }
        case .call(let session, .trace(let run)): change(session, now) { $0.traced(run, answer, at: now.read) }
        case .call(let session, .mirror(let sequence, let others)):
            change(session, now) { $0.mirrored(answer, sequence, of: others, at: now.read) }
        case .models(let query): orders.append(.replied(query, Self.models(answer)))
        case .places(let session, let stopped): tookPlaces(answer, for: session, without: stopped, now)
        case .stop(let native, let session): stoppedFor(session, native, now)
        }
    }

    private static func models(_ answer: OppiRest.Answer) -> AgentReply {
        switch answer {
        case .body(let body):
            .models(
                (body["models"]?.elements ?? []).compactMap { node in
                    guard let id = node["id"]?.string else { return nil }
                    let provider = node["provider"]?.string
                    // A session names its model with the provider (oppi.md#shared-objects).
                    let name = provider.map { id.hasPrefix("\($0)/") ? id : "\($0)/\(id)" } ?? id
                    guard ModelChoice.isName(name) else { return nil }
                    var model = AgentModel(id: name, name: node["name"]?.string ?? id, provider: provider)
                    model.contextWindow = node["contextWindow"]?.integer(in: .counts)
                    return model
                })
        case .refused(_, let error): .refused(message: error)
        case .failed(let reason): .refused(message: reason)
        }
    }

    // MARK: Permissions

    mutating func carryOut(_ permissionOrders: [OppiPermissions.Order], _ now: Occasion) {
        for order in permissionOrders {
            switch order {
            case .send(let frame, let session):
                // A denial follows the stop of its run on the same socket, so that
                // no later call of the run is executed in between.
                let own = session.flatMap { chats[$0]?.isBehindStop == true ? chats.channel(of: $0) : nil }
                orders.append(.send(own ?? Self.mainChannel, frame))
            case .settled(let id, let session, let outcome):
                let event = RunEvent.approvalSettled(ApprovalSettlement(id: id, outcome: outcome))
                orders.append(.observed([.signal(RunSignal(run: nil, session: session, event: event))]))
                if let session { permissionIsOver(id, of: session, outcome, now) }
            }
        }
    }

    /// A permission comes on every socket. A chat that follows its session reads it on its own, in order with the other frames.
    mutating func permission(_ type: String, _ root: FrameNode, on channel: ChannelID, _ now: Occasion) {
        guard check == nil, let id = root["id"]?.string.map({ ApprovalID($0) }) else { return }
        guard let session = asker(root) else {
            if type == "permission_request" { main.unknown.count("permission", "of another session") }
            return
        }
        let own = chats[session]?.hearsForItself == true ? chats.channel(of: session) : Self.mainChannel
        guard type != "permission_request" else {
            if channel == own { requested(id, root, in: session, now) }
            return
        }
        guard permissions.settled(id) else { return }
        change(session, now) { $0.permission(type, root, at: now.read) }
        permissionIsOver(id, of: session, .expired, now)
    }

    private mutating func permissionIsOver(
        _ id: ApprovalID, of session: AgentSession, _ outcome: ApprovalSettlement.Outcome, _ now: Occasion
    ) {
        guard chats[session]?.link.asksFirst.contains(id) == true else { return }
        change(session, now) { $0.permissionOfAskIsOver(id, outcome, at: now.read) }
    }

    private func asker(_ root: FrameNode) -> AgentSession? {
        root["sessionId"]?.string.flatMap { chats.session(of: $0) }
    }

    private mutating func requested(
        _ id: ApprovalID, _ root: FrameNode, in session: AgentSession, _ now: Occasion
    ) {
        var isOurs = false
        change(session, now) {
            isOurs = $0.takesPermission()
            return []
        }
        guard isOurs else {
            if chats[session]?.turn == nil { main.unknown.count("permission", "of another client") }
            return
        }
        var asked: [OppiChat.Order] = []
        let workspace = workspace(of: session)
        change(session, now) {
            asked = $0.permission("permission_request", root, workspace: workspace, at: now.read)
            return []
        }
        let requests = asked.lazy.compactMap { order -> ApprovalRequest? in
            guard case .observed(let said) = order, case .signal(let signal)? = said.first,
                case .approvalRequested(let request) = signal.event
            else { return nil }
            return request
        }
        guard let request = requests.first, permissions.requested(request, in: session, at: now.now) else { return }
        let isForAsk = root["tool"]?.holds("ask") == true
        change(session, now) {
            if isForAsk { $0.link.asksFirst.insert(id) }
            return asked
        }
        if chats[session]?.isBehindStop == true { denyAll(of: session, now) }
    }

    /// Denies every permission of a stopped run: its bubble has ended.
    private mutating func denyAll(of session: AgentSession, _ now: Occasion) {
        for id in permissions.undecided(of: session) {
            let no = OppiPermissions.Decision(.deny, .unscoped)
            carryOut(permissions.decide(id, no, shown: nil, isUp: life.isLive, now), now)
        }
    }

    private func workspace(of session: AgentSession) -> String? {
        let id = chats.place(of: session)?.workspace
        return server.workspaces.first { $0.id == id }?.name ?? id
    }

    mutating func permissionsEnd(_ root: FrameNode, on channel: ChannelID, _ now: Occasion) {
        guard let session = chats.session(on: channel) else { return }
        let named = root["sessionId"]?.string.flatMap { chats.session(of: $0) }
        if root["sessionId"] == nil || named == session { carryOut(permissions.sessionEnded(session), now) }
    }

    mutating func list(_ now: Occasion) {
        permissions.listing(at: now.now)
        work(.list, rest.get(OppiServer.path(.pending)))
    }

    mutating func lookAtList(_ now: Occasion) {
        guard life.isLive, permissions.takeListing(at: now.now) else { return }
        work(.list, rest.get(OppiServer.path(.pending)))
    }

    private mutating func listed(_ answer: OppiRest.Answer, _ now: Occasion) {
        guard life.isLive else { return }
        guard let body = answer.body, let pending = body["pending"]?.elements else {
            return permissions.listFailed(at: now.now)
        }
        server.take(.pending, body, at: now.now)
        var asks: [ApprovalID: AskFingerprint] = [:]
        for item in pending {
            guard let id = item["id"]?.string.map({ ApprovalID($0) }),
                let session = item["sessionId"]?.string.flatMap({ chats.session(of: $0) })
            else { continue }
            asks[id] = AskFingerprint(of: OppiDecoder.request(id, item, workspace: workspace(of: session)))
            requested(id, item, in: session, now)
        }
        carryOut(permissions.listed(asks, now), now)
    }

    mutating func resolveDialog(
        _ approval: ApprovalID, _ answer: OppiFrames.DialogAnswer, shown: AskFingerprint?, _ now: Occasion
    ) {
        let holder = chats.sorted.first { chats[$0]?.dialogs.holds(approval) == true }
        // A dialog of an earlier process has no known chat; among several it cannot be assigned.
        let heirs = chats.sorted.filter { chats[$0]?.turn.map { $0.isAdopted && $0.isOut } == true }
        guard let session = holder ?? (heirs.count == 1 ? heirs.first : nil) else {
            return carryOut([.settled(approval, nil, .unknown)], now)
        }
        change(session, now) { $0.resolve(approval, answer, shown: shown, at: now.read) }
    }
}

extension OppiChat {
    /// Decodes the permission like a frame of the chat's own.
    mutating func permission(
        _ type: String, _ root: FrameNode, workspace: String? = nil, at now: Instant
    ) -> [Order] {
        guard let place else { return [] }
        if decoder == nil { makeDecoder(place) }
        guard var reader = decoder else { return [] }
        reader.setWorkspace(workspace)
        let said = reader.permission(type, root, AgentSession(place.native), at: now)
        return said.isEmpty ? [] : [.observed(said)]
    }

    /// Whether the permission is of our run. Another client's permissions are that client's to
    /// answer. While the owner is unknown, the permission is left to the list.
    mutating func takesPermission() -> Bool {
        let isOurs = turn?.state == .going && isAtOurRun
        if !isOurs, turn != nil { link.hasLeftPermissions = true }
        return isOurs
    }

    mutating func listLeft() -> [Order] {
        guard link.hasLeftPermissions else { return [] }
        link.hasLeftPermissions = false
        return [.list]
    }

    mutating func hasNoWorkspace(_ sentence: String, at now: Instant) -> [Order] {
        guard home == .making else { return [] }
        home = .unknown
        return refuse(.notSent(sentence: sentence)) + advance(at: now)
    }

    /// The session could not be made, for a reason outside the chat.
    mutating func hasNoHome(at now: Instant) -> [Order] {
        guard home == .making else { return [] }
        home = .unknown
        return advance(at: now)
    }
}
