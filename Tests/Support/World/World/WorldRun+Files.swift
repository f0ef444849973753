import Vocabulary

// Files of messages, and their troubles on the way.

/// A file of a message.
package struct WorldFile: Sendable {
    package enum Fate: String, Sendable, CaseIterable { case whole, slow, missing, never }

    /// The signature of a PNG, because gateways look at the first bytes.
    static let picture: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    package var name: String
    package var fate: Fate
    package var takes: Duration
    package var bytes: [UInt8]

    /// The line that the person reads about the file, or nil if it arrived.
    var notice: String? {
        switch fate {
        case .whole, .slow: nil
        case .missing: "\(name) could not be fetched: the server answered 404."
        case .never: "\(name) could not be fetched: the server is too slow."
        }
    }
}

extension WorldPlan {
    /// A separate generator, so other seeds stay as they were. At most one file of a message is missing, so the end
    /// of its answer is known to the letter.
    mutating func drawFiles() {
        var random = SeededGenerator(seed: seed ^ 0x6669_6C65)
        guard random.happens(0.35), !themes.contains(.sleep) else { return }
        for index in messages.indices where random.happens(0.7) {
            let message = messages[index]
            guard agents[message.side].takesFiles, [.text, .tools, .long].contains(message.script.kind),
                message.second == nil
            else { continue }
            var files = (0..<Int.random(in: 1...3, using: &random)).map { number in
                WorldFile(
                    name: "\(message.script.name)f\(number).png", fate: random.pick([.whole, .whole, .slow]),
                    takes: .milliseconds(Int64.random(in: 5...900, using: &random)),
                    bytes: (agents[message.side] == .openClaw ? WorldFile.picture : [])
                        + (0..<Int.random(in: 1...40, using: &random)).map { _ in UInt8(random.next() & 0xFF) })
            }
            if random.happens(0.3) {
                files[files.count - 1].fate = random.pick([.missing, .missing, .never])
                if files[files.count - 1].fate == .never {
                    quietAt = max(quietAt, VirtualAttachments.timeLimit + .seconds(40))
                }
            }
            for number in files.indices where files[number].fate == .slow {
                files[number].takes = .seconds(Int64.random(in: 2...9, using: &random))
            }
            self.files[message.text] = files
        }
    }
}

extension WorldAgentKind {
    /// The double reports the files that it received.
    fileprivate var takesFiles: Bool { [.openClaw, .pi, .oppi, .claude].contains(self) }
}

extension WorldRun {
    /// Serves the message's files and returns their names.
    func serves(_ message: WorldPlan.Message) -> [String] {
        let files = plan.files[message.text] ?? []
        let side = world.sides[message.side]
        for file in files {
            let takes = file.fate == .never ? Duration.seconds(100_000) : file.takes
            side.attachments.served[file.name] = .init(file.fate == .missing ? nil : file.bytes, takes: takes)
        }
        return files.map(\.name)
    }
}

extension WorldJudge {
    /// No file remains on the disk, and the agent received the served bytes.
    mutating func judgeFiles(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        let left = side.attachments.onDisk
        if !left.isEmpty { violation("files are left on the disk: \(left)", run) }
        let attached = side.scripted?.attached ?? side.gateway.attached
        for message in plan.messages where message.side == index {
            let files = (plan.files[message.text] ?? []).filter { $0.fate == .whole || $0.fate == .slow }
            guard !files.isEmpty else { continue }
            let expected = files.map { Base64.encode($0.bytes) }
            let taken = attached.filter { $0.prompt == message.text }
            for taken in taken where taken.files.map(\.content) != expected {
                violation("\(message.text) reached the agent with other files: \(taken.files)", run)
            }
            if taken.isEmpty, side.begun(message.text) > 0 {
                violation("\(message.text) reached the agent without its files", run)
            }
        }
    }

    /// The bridge never resends a message with files: if its fate is unknown, the bubble asks the person to.
    func isUnsentWithFiles(_ message: WorldPlan.Message, _ side: WorldSide, _ answer: String) -> Bool {
        plan.files[message.text] != nil && losesAgent(message.side) && side.begun(message.text) == 0
            && answer.contains("send it again")
    }

    /// The text that the bridge puts behind the agent's words.
    func notices(_ message: WorldPlan.Message) -> String {
        let notices = (plan.files[message.text] ?? []).compactMap(\.notice)
        return notices.isEmpty ? "" : "\n\n" + notices.joined(separator: "\n")
    }
}
