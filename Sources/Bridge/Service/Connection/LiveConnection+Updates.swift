import BridgeCore
import Links
import Locking
import RelayProtocol
import Sealing
import Vocabulary

// Updates of the relay: messages, decisions, stops. Each is acknowledged once everything that it changed is durable.
extension LiveConnection {
    func take(_ update: RelayUpdate) {
        let wall = clock.wallMilliseconds
        let made = condition.withLock {
            $0.arriving.relayTime.made(update.createdAtWallMilliseconds, receivedAt: update.receivedAt, wall: wall)
        }
        noteAct(update, made: made)
        switch update.payload {
        case .message(let message, let sealedText): accept(message, sealedText, update, made)
        case .stop(.sessionDeleted): chatEnded(update, made, isDeleted: true)
        case .sessionEnded: chatEnded(update, made, isDeleted: false)
        case .stop(let reason): stop(update, made, reach: reason == .userAborted ? .everyRun : .ownRuns)
        case .approval(let approval, let decision, let details):
            change(update) {
                $0.decided(approval, decision, scope: details.scope, reason: details.reason, at: $1)
            }
        case .deviceAdded, .deviceRevoked, .sessionKeyGranted, .installationRevoked: takeKeys(update)
        case .model(let model):
            guard let session = update.session else { return acknowledge(update) }
            change(update) { $0.modelSaid(model, in: session, at: $1) }
        case .taskStopped(let task, let reason): change(update) { $0.taskStopped(task, reason: reason, at: $1) }
        case .sessionStarted, .other: acknowledge(update)
        }
    }

    private func accept(
        _ message: UserMessage, _ sealedText: String?, _ update: RelayUpdate, _ made: RelayMoment?
    ) {
        // Neither store nor acknowledge the message: the relay sends it again, until there is room.
        guard runner?.ask({ $0.openTurns < $0.settings.turnLimit }) ?? true else {
            relay?.tell { link, now in link.letGo(update, at: now) }
            return
        }
        let wall = clock.wallMilliseconds
        var message = message
        if message.isModelUnsaid { message.model = ask { $0.saidModel(of: message.session) } ?? nil }
        // A chat that was made for the agent's own runs leads back to their session.
        let own = mirroring.withLock { $0.agentSession(of: message.session) }
        let intake = UpdateIntake { [agentSession] in own ?? agentSession($0) }
        let (relayClock, mark) = condition.withLock { ($0.arriving.relayClock, $0.arriving.mark) }
        var opening = intake.opening(
            for: message, of: update, made: made, clock: relayClock, at: update.receivedAt, wall: wall)
        opening.isMarked = mark?.covers(made) ?? false
        let ownOpening = intake.ownOpening(for: message, made: made, at: update.receivedAt)
        let taken = message
        condition.withLock { $0.arriving.accepting[ownOpening.id] = ownOpening }
        // Read the installation after the message is in `accepting`: from there on it holds up a change of installation.
        let installation = installation
        accept(opening, of: taken, sealedText, update, installation) { [weak self] in
            self?.accept(ownOpening, of: taken, sealedText, update, installation, isTaken: nil)
        }
    }

    /// `isTaken` runs if another message has the turn of that name. `isReplayed` is true if another message brought the same sealed text.
    private func accept(
        _ unsealed: TurnOpening, of message: UserMessage, _ sealedText: String?, _ update: RelayUpdate,
        _ installation: Substring?, isReplayed: Bool = false, isTaken: (@Sendable () -> Void)?
    ) {
        let wall = clock.wallMilliseconds
        var opening = unsealed
        seal(&opening, sealedText)
        if isReplayed, opening.refusal == nil { refuse(&opening, .unreadable) }
        let accepted = AcceptedMessage(
            message: message.id, update: update.id, turn: opening.id, session: opening.session,
            interaction: opening.interaction,
            opening: RecordEnvelope.bytes(of: opening, now: clock.now, wall: wall), wall: wall,
            mark: opening.refusal == nil ? sealedText.flatMap { ReplayGuard.mark(of: $0) } : nil)
        journal.accept(accepted) { [weak self, opening] result in
            guard let self else { return }
            var isBegun = false
            defer { if !isBegun { keys?.neverBegan(opening.id, under: opening.sealing.key, in: opening.session) } }
            if case .success(.turnIsTaken) = result, let isTaken { return isTaken() }
            if case .success(.replayed) = result {
                return accept(
                    unsealed, of: message, sealedText, update, installation, isReplayed: true, isTaken: isTaken)
            }
            defer { condition.withLock { $0.arriving.accepting[UpdateIntake.ownTurn(of: message)] = nil } }
            switch result {
            case .success(.known), .success(.turnIsTaken), .success(.replayed): acknowledge(update)
            case .success(.fresh):
                acknowledge(update)
                isBegun = begin(opening, of: installation)
            // Do not acknowledge: the relay's resend is the retry.
            case .failure(let failure):
                letGo(update, failure)
                sayWhy(failure, in: opening.session)
            }
        }
    }

    /// False if the installation was left meanwhile.
    private func begin(_ opening: TurnOpening, of installation: Substring?) -> Bool {
        var isBegun = false
        runner?.tell { bridge, now in
            // Ask under the bridge's lock: a farewell that begins after this finds the turn.
            let belonging = belonging(to: installation)
            if belonging == .left { return bridge.neverBegins(opening.id) }
            isBegun = true
            begin(opening, on: &bridge, at: now)
            if belonging == .isLeft { bridge.leavesInstallation(opening.id, at: now) }
        }
        // The key may have come while the message was being stored.
        if opening.sealing == .sealed(nil) { openMessages(in: opening.session) }
        return isBegun
    }

    func begin(_ opening: TurnOpening, on bridge: inout Bridge, at now: Instant) {
        if mirroring.withLock({ $0.agentSession(of: opening.session) }) != nil { bridge.isOfRuns(opening.session) }
        bridge.turnBegins(opening, at: now)
    }

    /// Tells the chat, at most once an hour, why its message waits; the relay sends the message again.
    private func sayWhy(_ failure: JournalFailure, in session: SessionID) {
        let now = clock.now
        let isNews = condition.withLock { state in
            if state.toldWhy.count > 1_000 { state.toldWhy = [:] }
            if let last = state.toldWhy[session], now - last < .seconds(3_600) { return false }
            state.toldWhy[session] = now
            return true
        }
        if isNews {
            loose.say(
                "The bridge cannot write to its disk, so this message waits. \(failure.remedyForUser)", in: session)
        }
    }

    /// The relay reports an archived chat as ended, too (relay.md#others).
    private func chatEnded(_ update: RelayUpdate, _ made: RelayMoment?, isDeleted: Bool) {
        guard let session = update.session else { return acknowledge(update) }
        // A job's agent session serves the job, whatever becomes of its chat.
        let isOwn = mirroring.withLock { $0.agentSession(of: session) != nil }
        let served = isOwn ? nil : agentSession(session)
        forgetChat(session)
        files?.viewer?.forget(session)
        let names = stopsForMessagesBeingAccepted(in: session, nil, made: isDeleted ? nil : made, reach: .ownRuns)
        // The chat's keys go too, those of open turns after their ends. Acknowledge once both changes are on the disk.
        let halves = Locked<[Bool]>([])
        let half: @Sendable (Bool) -> Void = { [weak self] isKept in
            let both = halves.withLock { halves in
                halves.append(isKept)
                return halves
            }
            guard let self, both.count == 2 else { return }
            guard both.contains(false) else { return acknowledge(update) }
            relay?.tell { link, now in link.letGo(update, at: now) }
        }
        runner?.tell { bridge, now in
            bridge.ended(session: session, isDeleted: isDeleted, coming: names, releasing: served, made: made, at: now)
        } whenKept: { [weak self] failure in
            if let failure, failure.code != .conflict { self?.journalFails(failure) }
            half(failure == nil)
        }
        guard let keys else { return half(true) }
        keys.change({ ring, name, now, _ in ring.sessionEnded(session, name, at: now) }, settled: half)
    }

    /// Updates about keys and devices are the ring's.
    private func takeKeys(_ update: RelayUpdate) {
        let wall = clock.wallMilliseconds
        switch update.payload {
        case .deviceAdded(let device):
            let known = DeviceBook.Device(
                id: DeviceID(device.id), publicKey: Hexadecimal.bytes(device.publicKey) ?? [], label: device.label,
                platform: device.platform)
            changeKeys(update) { ring, name, now, secrets in
                ring.deviceAnnounced(known, name, wall: wall, at: now, using: secrets)
            }
        case .deviceRevoked(let device):
            changeKeys(update) { ring, name, now, secrets in
                ring.deviceRevoked(DeviceID(device), name, at: now, using: secrets)
            }
        case .sessionKeyGranted(let device, let wrapped):
            guard let session = update.session else { return acknowledge(update) }
            changeKeys(update) { ring, name, now, _ in
                ring.keyGranted(session, for: DeviceID(device), wrapped: wrapped, name, wall: wall, at: now)
            }
        case .installationRevoked:
            // Acknowledge now: the link ends after this update, and takes no acknowledgement later.
            acknowledge(update)
            keys?.tell { ring, now, _ in ring.installationRevoked(at: now) }
        default: acknowledge(update)
        }
    }

    /// A message that is being stored has no turn yet, and the stop is for it too: the journal keeps the stop under the message's own name.
    private func stopsForMessagesBeingAccepted(
        in session: SessionID?, _ interaction: InteractionID?, made: RelayMoment?, reach: StopReach
    ) -> [InteractionID] {
        let accepting = condition.withLock { state in
            state.arriving.accepting.filter { _, opening in
                interaction.map { opening.interaction == $0 }
                    ?? (opening.session == session && !opening.isNewer(than: made))
            }.sorted { $0.key < $1.key }
        }
        let names = accepting.map { InteractionID($0.key.text) }
        var stops = zip(accepting, names).map { ($0.value.session, $1) }
        // The name of the interaction is all that the journal needs to find its message.
        if let interaction { stops.append((session ?? SessionID(""), interaction)) }
        let wall = clock.wallMilliseconds
        let entries = stops.map { JournalEntry.stop($0, $1, wall: wall, made: made?.wallMilliseconds, reach: reach) }
        if !entries.isEmpty { journal.submit(entries, .written, done: nil) }
        return names
    }

    private func stop(_ update: RelayUpdate, _ made: RelayMoment?, reach: StopReach) {
        let (session, interaction) = (update.session, update.interaction)
        let names = stopsForMessagesBeingAccepted(in: session, interaction, made: made, reach: reach)
        let heard = made == nil ? condition.withLock { $0.arriving.firstHeard(update) } : nil
        change(update) { bridge, now in
            for name in names {
                bridge.stopped(session: session, interaction: name, made: made, reach: reach, at: now)
            }
            bridge.stopped(
                session: session, interaction: interaction, made: made, heard: heard, reach: reach, at: now)
        }
    }

    /// Acknowledges the update once everything that it changed is durable.
    private func change(_ update: RelayUpdate, _ event: (inout Bridge, Instant) -> Void) {
        runner?.tell(event) { [weak self] failure in
            guard let self else { return }
            if let failure { letGo(update, failure) } else { acknowledge(update) }
        }
    }

    private func letGo(_ update: RelayUpdate, _ failure: JournalFailure) {
        relay?.tell { link, now in link.letGo(update, at: now) }
        // A conflict says nothing about the disk.
        if failure.code != .conflict { journalFails(failure) }
    }
}
