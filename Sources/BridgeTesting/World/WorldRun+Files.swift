import BridgeModel

// Files that come with messages, and what goes wrong with them on their way.

/// One that comes with a message.
package struct WorldFile: Sendable {
    package enum Fate: String, Sendable, CaseIterable { case whole, slow, missing, never }

    package var name: String
    package var fate: Fate
    package var takes: Duration
    package var bytes: [UInt8]

    /// What the person reads of it.
    var notice: String? {
        switch fate {
        case .whole, .slow: nil
        case .missing: "\(name) could not be fetched: the server answered 404."
        case .never: noticeOfTime
        }
    }

    var noticeOfTime: String { "\(name) could not be fetched: it took too long." }
}

extension WorldPlan {
    /// Drawn from a generator of its own, so that all other seeds stay what they were. At most one file of a message is missing, so that
    /// the end of its answer is known to the letter.
    mutating func drawFiles() {
        var random = SeededGenerator(seed: seed ^ 0x6669_6C65)
        guard random.happens(0.25), sealing == nil, !themes.contains(.sleep) else { return }
        for index in messages.indices where random.happens(0.7) {
            let message = messages[index]
            guard agents[message.side].takesFiles, [.text, .tools, .long].contains(message.script.kind),
                message.second == nil
            else { continue }
            var files = (0..<Int.random(in: 1...3, using: &random)).map { number in
                WorldFile(
                    name: "\(message.script.name)f\(number).png", fate: random.pick([.whole, .whole, .slow]),
                    takes: .milliseconds(Int64.random(in: 5...900, using: &random)),
                    bytes: (0..<Int.random(in: 1...40, using: &random)).map { _ in UInt8(random.next() & 0xFF) })
            }
            if random.happens(0.3) {
                files[files.count - 1].fate = random.pick([.missing, .missing, .never])
                if files[files.count - 1].fate == .never { quietAt = max(quietAt, .seconds(40)) }
            }
            for number in files.indices where files[number].fate == .slow {
                files[number].takes = .seconds(Int64.random(in: 2...9, using: &random))
            }
            self.files[message.text] = files
        }
    }
}

extension WorldAgentKind {
    /// Its double says what it got.
    fileprivate var takesFiles: Bool { self == .openClaw || self == .pi }
}

extension WorldRun {
    /// False: the message has none.
    func writesWithFiles(_ message: WorldPlan.Message) -> Bool {
        guard let files = plan.files[message.text] else { return false }
        let side = world.sides[message.side]
        for file in files {
            let takes = file.fate == .never ? Duration.seconds(100_000) : file.takes
            side.attachments.served[file.name] = .init(file.fate == .missing ? nil : file.bytes, takes: takes)
        }
        side.writes(message.text, files: files.map(\.name), chat: message.chat, after: message.at)
        return true
    }
}

extension WorldJudge {
    /// Nothing is left of them, and what the agent got is what was served.
    mutating func judgeFiles(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        let left = side.attachments.onDisk
        if !left.isEmpty { violation("files are left on the disk: \(left)", run) }
        let served = Dictionary(
            plan.files.values.joined().map { ($0.name, Base64.encode($0.bytes)) },
            uniquingKeysWith: { first, _ in first })
        for message in side.gateway.attached {
            for file in message.files where served[file.name] != file.content {
                violation("\(file.name) reached the agent as something else", run)
            }
        }
    }

    /// With files a message is not sent again: where its fate is not known, the person is asked to.
    func isUnsentWithFiles(_ message: WorldPlan.Message, _ side: WorldSide, _ answer: String) -> Bool {
        plan.files[message.text] != nil && losesAgent(message.side) && side.begun(message.text) == 0
            && answer.contains("send it again")
    }

    /// The text behind the agent's words.
    func notices(_ message: WorldPlan.Message) -> String {
        let files = plan.files[message.text] ?? []
        // The files of a message come at once, when the last of them is there: one that never comes keeps the others back.
        let isLate = files.contains { $0.fate == .never }
        let notices = isLate ? files.map(\.noticeOfTime) : files.compactMap(\.notice)
        return notices.isEmpty ? "" : "\n\n" + notices.joined(separator: "\n")
    }
}
