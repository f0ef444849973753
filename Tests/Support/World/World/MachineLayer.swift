import AgentKit
import Claude
import Codex
import OpenClaw
import Oppi
import Pi
import Vocabulary

#if PLANTED_FAULTS
    /// Faults of `PlantedFault` inside an agent's machine, made around it: this changes its commands, orders and
    /// observations.
    struct LayeredHost: AgentHost {
        let inner: any AgentHost
        let fault: PlantedFault

        func carry<Machine: AgentMachine & ~Copyable>(
            _ machine: consuming sending Machine, settings: @escaping @Sendable () -> Machine.Settings?
        ) -> any AgentLink { inner.carry(MachineLayer(machine, fault), settings: settings) }

        /// The host with the planted fault, if that concerns machines.
        static func around(_ host: any AgentHost) -> any AgentHost {
            guard let fault = PlantedFault.planted, LayeredFault.all.contains(fault) else { return host }
            return LayeredHost(inner: host, fault: fault)
        }
    }

    enum LayeredFault {
        static let all = Set(PlantedFault.ofEngine).union([
            .promptResent, .deltaAfterEnd, .stopForgottenBeforeLoop, .holeAppended, .othersWordsTaken,
            .earlyStopForgotten, .retryNotShown, .promptBeforePictures, .approvalByNumber, .interruptedFromHistory,
            .askRepeatedUnknown,
            .sentAgainThoughItRan, .ownRunNotAdopted, .modelAfterMessage, .sequenceUnbounded, .fingerprintForgotten,
            .ownTurnOutlivesProcess,
        ])

        /// Whether machines with these settings have the fault.
        static func concerns(_ fault: PlantedFault, _ settings: Any.Type) -> Bool {
            switch fault {
            case .promptResent, .deltaAfterEnd, .stopForgottenBeforeLoop: settings == PiSettings.self
            case .promptBeforePictures: settings == PiSettings.self || settings == OppiSettings.self
            case .holeAppended, .othersWordsTaken, .earlyStopForgotten, .retryNotShown: settings == OppiSettings.self
            case .approvalByNumber, .interruptedFromHistory, .askRepeatedUnknown: settings == CodexSettings.self
            case .fingerprintForgotten: true
            case .ownTurnOutlivesProcess: settings == ClaudeSettings.self
            case .promptRepeatedInDoubt, .askAnsweredTwice, .yesBehindStop, .stopForgottenOverLoss, .chatsMixedUp:
                settings == PiSettings.self || settings == ClaudeSettings.self
            case .sentAgainThoughItRan, .ownRunNotAdopted, .modelAfterMessage, .sequenceUnbounded:
                settings == OpenClawSettings.self
            default: false
            }
        }
    }

    struct MachineLayer<Machine: AgentMachine & ~Copyable>: ~Copyable, AgentMachine {
        typealias Settings = Machine.Settings

        struct Sent {
            var command: AgentCommand
            var hasLeft = false
            var hasBegun = false
            var hasSaid = false
            /// The run's end was made up, so later frames of it are dropped.
            var isOver = false
            /// State of the engine's faults: the run's channel, whether a person stopped the run, and whether the
            /// channel ended after that.
            var channel: ChannelID?
            var isStopped = false
            var isLost = false
        }

        var machine: Machine
        let fault: PlantedFault?
        var sent: [RunID: Sent] = [:]
        var engine = EngineFaults()
        /// Newest signal by `place`.
        private var newest: [String: RunSignal] = [:]
        /// Runs to report as one of ours.
        var ours: [RunID: RunID] = [:]
        /// Texts of ended messages, by `place`.
        private var records: [String: [String]] = [:]
        /// Native names of asks, by the names that the core hears.
        private var names: [String: String] = [:]
        private var asks: [ApprovalID: ApprovalRequest] = [:]
        private var decisions: [ApprovalID: AgentCommand] = [:]
        /// Newest sequence number of a frame.
        private var number = 0
        private var choices: [AgentSession: ModelChoice] = [:]
        /// The frame that the machine reads now.
        private var frame = ""

        init(_ machine: consuming Machine, _ fault: PlantedFault) {
            self.machine = machine
            self.fault = LayeredFault.concerns(fault, Machine.Settings.self) ? fault : nil
        }

        var nextDeadline: Instant? { [machine.nextDeadline, engine.waitsUntil].compactMap(\.self).min() }
        var nextReadingDeadline: Instant? { machine.nextReadingDeadline }
        var heldBytes: Int { machine.heldBytes }

        // MARK: Orders of the machine

        mutating func spoil(_ orders: [AgentOrder], _ now: Occasion) -> [AgentOrder] {
            guard fault != nil else { return orders }
            var spoilt: [AgentOrder] = []
            for order in orders {
                switch order {
                case .observed(let said):
                    var (kept, more): ([Observation], [AgentOrder]) = ([], [])
                    for (index, observation) in said.enumerated() where !isAskedAgain(observation, in: said[index...]) {
                        kept += spoil(observation, now, &more)
                    }
                    spoilt += [.observed(kept)] + more
                case .send(_, let bytes, _) where fault == .stopForgottenBeforeLoop:
                    noteLeft(String(decoding: bytes, as: UTF8.self))
                    spoilt.append(order)
                case .send(let channel, let bytes, _) where fault == .stopForgottenOverLoss:
                    noteChannel(channel, String(decoding: bytes, as: UTF8.self))
                    spoilt.append(order)
                default: spoilt.append(order)
                }
            }
            return spoilt
        }

        private mutating func spoil(
            _ observation: Observation, _ now: Occasion, _ more: inout [AgentOrder]
        ) -> [Observation] {
            guard case .signal(var signal) = observation, let named = signal.run else { return [observation] }
            if let own = ours[named] { signal.run = own }
            let run = signal.run ?? named
            if sent[run]?.isOver == true { return [] }
            note(signal, of: run)
            switch (fault, signal.event) {
            case (.promptResent, .failed(let failure)) where failure.kind == .agentGone:
                guard let command = sent[run]?.command else { break }
                more += machine.command(command, now)
                return []
            case (.sentAgainThoughItRan, .finished(let end)) where end.reason == .stop:
                guard case .send(let turn, let session, _, let message)? = sent[run]?.command else { break }
                let again = AgentCommand.send(
                    turn: turn, session: session, run: RunID("\(run.text)-again"), message: message)
                more += machine.command(again, now)
            case (.promptRepeatedInDoubt, .failed(let failure)) where failure.kind == .agentGone:
                guard let again = again(run, now) else { break }
                more += again
                return []
            case (.stopForgottenOverLoss, .finished(let end)) where end.reason == .aborted && sent[run]?.isLost == true:
                guard let again = again(run, now) else { break }
                more += again
                return []
            // No frame reports the end that the process makes.
            case (.ownTurnOutlivesProcess, .failed), (.ownTurnOutlivesProcess, .finished):
                if frame.isEmpty, sent[run] == nil { return [] }
            case (.ownRunNotAdopted, .finished): sent[run]?.isOver = true
            case (.retryNotShown, .retrying) where sent[run]?.hasSaid == true:
                sent[run]?.isOver = true
                signal.event = .finished(RunEnd())
            case (.interruptedFromHistory, .finished), (.interruptedFromHistory, .failed):
                guard frame.contains(#""interrupted""#) else { break }
                let record = (listed(of: run) ?? records[place] ?? []).joined(separator: "\n\n")
                return [changed(signal, .text(.snapshot(record))), changed(signal, .text(.segmentEnded(nil)))]
                    + [.signal(signal)]
            case (.fingerprintForgotten, .approvalRequested(let request)):
                // Repeats the decision on the known ask.
                if asks[request.id] != nil, let decision = decisions[request.id] {
                    more += machine.command(decision, now)
                    return []
                }
                signal.event = .approvalRequested(asks[request.id] ?? request)
                asks[request.id] = asks[request.id] ?? request
            case (.approvalByNumber, .approvalRequested(var request)),
                (.askRepeatedUnknown, .approvalRequested(var request)):
                let name = shownName(of: request.id.text)
                names[name] = request.id.text
                request.id = ApprovalID(name)
                signal.event = .approvalRequested(request)
            case (.approvalByNumber, .approvalSettled(var settled)),
                (.askRepeatedUnknown, .approvalSettled(var settled)):
                let known = names.first { $0.value == settled.id.text }
                settled.id = known.map { ApprovalID($0.key) } ?? settled.id
                signal.event = .approvalSettled(settled)
            default: break
            }
            return [.signal(signal)]
        }

        private mutating func noteLeft(_ frame: String) {
            guard frame.contains(#""type":"prompt""#) else { return }
            for (run, known) in sent {
                guard case .send(_, _, _, let message) = known.command, frame.contains(message.text) else { continue }
                sent[run]?.hasLeft = true
            }
        }

        /// Drops the settlement of an ask if the same name asks again: the known ask then stays open.
        private func isAskedAgain(_ observation: Observation, in rest: ArraySlice<Observation>) -> Bool {
            guard fault == .fingerprintForgotten, case .signal(let signal) = observation,
                case .approvalSettled(let settled) = signal.event
            else { return false }
            return rest.contains { later in
                guard case .signal(let later) = later, case .approvalRequested(let request) = later.event else {
                    return false
                }
                return request.id == settled.id
            }
        }

        private func changed(_ signal: RunSignal, _ event: RunEvent) -> Observation {
            .signal(RunSignal(run: signal.run, session: signal.session, event: event))
        }

        private mutating func note(_ signal: RunSignal, of run: RunID) {
            newest[place] = signal
            switch signal.event {
            case .started:
                sent[run]?.hasBegun = true
                records[place] = []
            case .retrying: sent[run]?.hasBegun = false
            case .text: sent[run]?.hasSaid = true
            default: break
            }
        }

        /// Session or thread of the current frame.
        private var place: String { frame.member("sessionId") ?? frame.member("threadId") ?? "" }

        /// Name of an ask by the number of its request, or without the number that tells it from a settled one.
        private func shownName(of name: String) -> String {
            if fault == .approvalByNumber { return frame.number("id").map { "request-\($0)" } ?? name }
            let parts = name.split(separator: ":")
            return parts.count > 2 && parts.last?.allSatisfy(\.isNumber) == true
                ? parts.dropLast().joined(separator: ":") : name
        }

        // MARK: Events for the machine

        mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder] { spoil(machine.begin(past, now), now) }
        mutating func check(_ now: Occasion) -> [AgentOrder] { machine.check(now) }

        mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder] {
            guard let fault else { return machine.command(command, now) }
            frame = ""
            if PlantedFault.ofEngine.contains(fault) { return spoil(engineCommand(command, now), now) }
            switch command {
            case .send(let turn, let session, let run, var message):
                if fault == .modelAfterMessage {
                    let asked = message.choice
                    message.choice = choices.removeValue(forKey: session) ?? .unchanged
                    if asked != .unchanged { choices[session] = asked }
                }
                // The prompt leaves without the pictures that it would wait for.
                if fault == .promptBeforePictures { message.attachments = [] }
                let passed = AgentCommand.send(turn: turn, session: session, run: run, message: message)
                sent[run] = Sent(command: passed)
                return spoil(machine.command(passed, now), now)
            case .abort(let session, let run, _) where fault == .earlyStopForgotten && sent[run]?.hasBegun == false:
                sent[run]?.isOver = true
                let end = RunSignal(run: run, session: session, event: .finished(RunEnd(reason: .aborted)))
                return [.observed([.signal(end), .abortAnswered(run)])]
            // Loses the abort of a run that has not begun, and the machine never repeats it when the loop begins.
            case .abort(_, let run, _)
            where fault == .stopForgottenBeforeLoop && sent[run]?.hasLeft == true && sent[run]?.hasBegun == false:
                return []
            case .resolve(let approval, let subject, let decision, let scope, let isUnanswered, let shown, let follow):
                let name = ApprovalID(names[approval.text] ?? approval.text)
                let isBlind = [.approvalByNumber, .askRepeatedUnknown, .fingerprintForgotten].contains(fault)
                let passed = AgentCommand.resolve(
                    approval: name, subject: subject, decision: decision, scope: scope, isUnanswered: isUnanswered,
                    shown: isBlind ? nil : shown, wordsFollow: follow)
                decisions[approval] = passed
                return spoil(machine.command(passed, now), now)
            case .abort, .answer, .lookUp, .release: return spoil(machine.command(command, now), now)
            }
        }

        mutating func query(_ query: AgentQuery, as id: QueryID, _ now: Occasion) -> [AgentOrder] {
            spoil(machine.query(query, as: id, now), now)
        }

        mutating func received(
            _ frame: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
            into orders: inout [AgentOrder]
        ) {
            var fresh: [AgentOrder] = []
            machine.received(frame, capacity: capacity, on: channel, now, into: &fresh)
            guard let fault else {
                orders += fresh
                return
            }
            self.frame = String(decoding: frame, as: UTF8.self)
            switch fault {
            case .deltaAfterEnd, .holeAppended: append(to: &fresh)
            case .othersWordsTaken: takeOthersWords(in: &fresh)
            case .ownRunNotAdopted: endOwnRun(in: &fresh)
            case .sequenceUnbounded: countFrame()
            case .interruptedFromHistory: record()
            default: break
            }
            orders += spoil(fresh, now)
            self.frame = ""
        }

        /// Appends a delta that the machine left out to the newest run.
        private mutating func append(to orders: inout [AgentOrder]) {
            let isTaken = orders.contains { order in
                if case .observed(let said) = order { said.contains { $0.isText } } else { false }
            }
            guard !isTaken, frame.contains(#""text_delta""#), let piece = frame.member("delta"),
                let signal = newest[place]
            else { return }
            orders.append(.observed([changed(signal, .text(.append(piece)))]))
        }

        /// Drops the end of our run that another client's message makes, and takes the following run for our answer.
        private mutating func takeOthersWords(in orders: inout [AgentOrder]) {
            for index in orders.indices {
                guard case .observed(var said) = orders[index] else { continue }
                for place in said.indices.dropLast() {
                    guard case .signal(let end) = said[place], case .finished = end.event, let run = end.run,
                        sent[run] != nil, case .signal(let next) = said[place + 1], next.event == .started,
                        let other = next.run, sent[other] == nil
                    else { continue }
                    ours[other] = run
                    said.removeSubrange(place...(place + 1))
                    break
                }
                orders[index] = .observed(said)
            }
        }

        private mutating func record() {
            guard frame.contains(#""item/completed""#), frame.contains(#""agentMessage""#),
                let text = frame.member("text")
            else { return }
            records[place, default: []].append(text.split(separator: #"\n"#).joined(separator: "\n"))
        }

        /// Messages of the run's turn in a list of turns, or nil if the frame is no list.
        private func listed(of run: RunID) -> [String]? {
            guard let begin = frame.firstRange(of: "\"clientId\":\"\(run)\"")?.upperBound else { return nil }
            let end = frame[begin...].firstRange(of: #""status":"interrupted""#)?.lowerBound ?? frame.endIndex
            return frame[begin..<end].split(separator: #""agentMessage""#).dropFirst().compactMap { $0.member("text") }
        }

        /// Counts a frame's number, however great.
        private mutating func countFrame() {
            // The frame's own `seq` stands behind the payload's.
            guard let last = frame.split(separator: #""seq":"#).last, let said = Int(last.prefix { $0.isNumber }),
                said - 1 > number
            else { return }
            number = said
        }

        /// Ends our run at the first terminal frame without a message, whatever run answers.
        private mutating func endOwnRun(in orders: inout [AgentOrder]) {
            guard frame.contains(#""state":"final""#), !frame.contains(#""message""#),
                let run = frame.member("runId").map({ RunID($0) }), let known = sent[run], !known.isOver,
                case .send(_, let session, _, _) = known.command
            else { return }
            let hasEnded = orders.contains { order in
                guard case .observed(let said) = order else { return false }
                return said.contains { if case .signal(let signal) = $0 { signal.run == run } else { false } }
            }
            guard !hasEnded else { return }
            orders.append(.observed([.signal(RunSignal(run: run, session: session, event: .finished(RunEnd())))]))
        }

        mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder] {
            if fault == .stopForgottenOverLoss { noteLoss(event, on: channel) }
            return spoil(machine.happened(event, on: channel, now), now)
        }
        mutating func finished(_ work: WorkID, _ result: WorkResult, _ now: Occasion) -> [AgentOrder] {
            spoil(machine.finished(work, result, now), now)
        }
        mutating func timePassed(_ now: Occasion) -> [AgentOrder] {
            let isDue = engine.waitsUntil.map { $0 <= now.now } ?? false
            return (isDue ? releaseYes() : []) + spoil(machine.timePassed(now), now)
        }
        mutating func slept(_ now: Occasion) -> [AgentOrder] { spoil(machine.slept(now), now) }
        mutating func use(_ settings: Settings, _ now: Occasion) -> [AgentOrder] {
            spoil(machine.use(settings, now), now)
        }
        mutating func shutDown(_ now: Occasion) -> [AgentOrder] { spoil(machine.shutDown(now), now) }
    }

    extension Observation {
        fileprivate var isText: Bool {
            if case .signal(let signal) = self, case .text = signal.event { true } else { false }
        }
    }
#endif
