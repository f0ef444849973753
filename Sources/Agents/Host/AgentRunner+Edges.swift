import AgentKit
import Locking
import Vocabulary

// Orders to the edges, and reports from them.
extension AgentRunner where Machine: ~Copyable {
    func carryOut(_ step: AgentStep) {
        switch step {
        case .open(let number, let id, .socket(let plan)):
            let link = edges.sockets.open(WebSocketRequest(plan)) { [weak self] in
                self?.happened($0, on: number, id)
            }
            state.withLock { $0.channels.opened(number, .socket(link)) }
        case .open(let number, let id, .child(let plan)): takePlace(number, id, plan)
        case .begin(let number, let waiting): beginChild(number, waiting)
        case .send(let number, let id, let frame, let telling): send(frame, on: number, id, telling)
        case .close(let number, let closing):
            if let line = state.withLock({ $0.channels.line(number) }) { line.close(closing) } else { callOff(number) }
        case .idle(let number, let isIdle):
            if let ticket = state.withLock({ $0.seats.ticket(number) }) { edges.places?.isIdle(ticket, isIdle) }
        case .asks(let number, let chat):
            if let ticket = state.withLock({ $0.seats.ticket(number) }) { edges.places?.asks(ticket, chat) }
        case .start(let start): begin(start)
        case .refuse(let work, let failure): tell { machine, now in machine.finished(work, .failed(failure), now) }
        case .answer(let completion, let reply): completion(reply)
        case .readSettings: renew()
        case .cover(let secret): outlets.cover(secret)
        case .tell(let event): outlets.tell(event)
        }
    }

    private func begin(_ start: WorkTable.Start) {
        let done: @Sendable (WorkResult) -> Void = { [weak self] in self?.finished(start.ticket, $0) }
        if case .end(let process, _) = start.work {
            return edges.work.carryOut(start.work) { [weak self] result in
                self?.forgetDead([process])
                done(result)
            }
        }
        if case .complaints(let log, let from, let limit) = start.work {
            return edges.work.carryOut(.read(path: log, from: from, limit: limit)) { [redact = edges.redact] result in
                guard case .read(let bytes, let size) = result else { return done(result) }
                done(.read(Array(redact(String(decoding: bytes, as: UTF8.self)).utf8), size: size))
            }
        }
        guard case .keep(let facts) = start.work else { return edges.work.carryOut(start.work, completion: done) }
        guard let journal = edges.journal else {
            return done(.failed(WorkFailure(.forbidden, "nothing is kept without a journal")))
        }
        journal.submit(kept.entries(facts), .synced) { failure in
            done(failure.map { .failed(WorkFailure(.other, $0.message)) } ?? .done)
        }
    }

    /// Forgets processes that have ended, so no later start looks for them.
    func forgetDead(_ processes: [ProcessName]) {
        guard let journal = edges.journal, !processes.isEmpty else { return }
        edges.work.carryOut(.look(at: processes)) { [weak self, kept] result in
            guard case .alive(let alive) = result else { return }
            let dead = processes.filter { !alive.contains($0) }
            self?.state.withLock { $0.processes.subtract(dead) }
            if !dead.isEmpty { journal.submit(kept.entries(ofEnded: dead), .written, done: nil) }
        }
    }

    func startChild(_ number: Int, _ id: ChannelID, _ plan: ChildPlan) {
        let journal = edges.journal
        let kept = kept
        let leavePlace = leavingPlace(number)
        let name = Locked<ProcessName?>(nil)
        let refusal = Locked<ChildFailure?>(nil)
        let link = edges.children.start(plan) { [weak self] process, release in
            name.withLock { $0 = process }
            self?.state.withLock { _ = $0.processes.insert(process) }
            guard let journal else { return release(true) }
            journal.submit([kept.entry(of: process, plan)], .synced) { failure in
                refusal.withLock {
                    $0 = failure.map { ChildFailure(.calledOff, "the journal cannot be written: \($0)") }
                }
                release(failure == nil)
            }
        } handler: { [weak self] event in
            if event.isLast, let process = name.withLock({ $0 }) {
                self?.state.withLock { _ = $0.processes.remove(process) }
                journal?.submit(kept.entries(ofEnded: [process]), .written, done: nil)
            }
            if event.isLast { leavePlace() }
            let why = refusal.withLock { $0 }
            if case .failed = event, let why {
                self?.happened(.failed(why), on: number, id)
            } else {
                self?.happened(event, on: number, id)
            }
        }
        state.withLock { $0.channels.opened(number, .child(link, plan.life)) }
    }

    private func send(_ frame: [UInt8], on number: Int, _ id: ChannelID, _ telling: WorkID?) {
        switch state.withLock({ $0.channels.line(number) }) {
        case .socket(let link):
            edges.record?(id, false, frame)
            link.send(text: frame)
            if let telling { written(telling, on: number) }
        case .child(let link, _):
            edges.record?(id, false, frame)
            // The child does not read: end it, like a socket whose peer does not read.
            if !link.send(frame + [UInt8(ascii: "\n")], telling: telling?.number) { link.end(atOnce: true) }
        // The end of the channel is reported separately.
        case nil: break
        }
    }

    // MARK: Reports

    private func happened(_ event: WebSocketEvent, on number: Int, _ id: ChannelID) {
        switch event {
        case .text(let frame), .binary(let frame):
            if case .text = event { edges.record?(id, true, frame) }
            received(frame, on: number)
        case .opened: happened(.opened, on: number)
        case .ping, .pong: happened(.heard, on: number)
        // 1006 stands for an end without a code (RFC 6455, 7.1.5).
        case .closed(let code, let reason, _): ended(number, .closed(code: code ?? 1006, reason: reason))
        case .refused(let status, _, let body): ended(number, .refused(status: status, body: body))
        case .failed(let failure): ended(number, .failed(message: failure.message, ChannelFault(failure.code)))
        }
    }

    private func happened(_ event: ChildEvent, on number: Int, _ id: ChannelID) {
        switch event {
        case .spawned(let process): happened(.spawned(process), on: number)
        case .line(let line):
            edges.record?(id, true, line)
            received(line, on: number)
        case .skipped(let bytes): happened(.skipped(bytes: bytes), on: number)
        case .complained(let line): complained(line)
        case .written(let telling): written(WorkID(telling), on: number)
        case .failed(let failure): ended(number, .failed(message: failure.message))
        case .exited(let end, let lastWords):
            let isHidden = edges.isSealed() && complaints.withLock { $0.isPrompted }
            ended(number, .exited(end, lastWords: isHidden ? "" : edges.redact(lastWords)))
        }
    }

    private func complained(_ line: String) {
        let words = complaints.withLock {
            $0.take(edges.redact(line), isSealed: edges.isSealed(), at: edges.clock.now)
        }
        for words in words { outlets.tell(.note(.complaint(words))) }
    }
}

extension ChannelFault {
    fileprivate init(_ code: WebSocketFailure.Code) {
        self =
            switch code {
            case .tlsFailed: .untrusted
            case .connectionRefused, .badURL: .absent
            case .foreignListener: .foreignListener
            case .nameNotFound, .timedOut, .badHandshake, .protocolError, .invalidText, .messageTooLarge,
                .connectionLost, .tooMuchWaiting, .other:
                .unknown
            }
    }
}
