import RelayRules
import Vocabulary

// Effects of the relay's own acts, and their limits.
extension WorldJudge {
    /// Time in which the agent may still work after a removal.
    private static let farewell = Duration.seconds(4)

    /// After a removal the bridge stops its runs and denies their asks, unless the agent's link has troubles.
    mutating func judgeRemoval(_ run: WorldRun) {
        guard plan.isRemoved else { return }
        for (index, side) in run.world.sides.enumerated() where !judgedRemovals.contains(index) {
            guard let removedAt = side.removedAt, run.world.time.now >= removedAt + Self.farewell else { continue }
            judgedRemovals.insert(index)
            guard !hasOtherTroubles(index), side.scripted?.refusesStops != true,
                removedAt + Self.farewell < .zero + .seconds(18),
                !plan.messages.contains(where: { $0.side == index && side.scripted?.ignoresStop($0.text) == true })
            else { continue }
            // The bridge owes a Stop to a run until the run begins.
            if side.scripted?.isAtWork(since: removedAt) ?? side.gateway.isBusy {
                violation("the agent of side \(index) works on behind the removal", run)
            }
            let open = side.scripted == nil ? side.gateway.openApprovals : []
            if let first = open.first { violation("\(first) stayed open behind the removal", run) }
        }
    }

    /// Troubles besides the relay's answers.
    private func hasOtherTroubles(_ side: Int) -> Bool {
        plan.troubles.contains { trouble in
            switch trouble.misfortune {
            case .call, .socket, .cutRelay, .anotherToken, .relayCancels: false
            case .kill, .shutDown, .fullDisk, .slowDisk: true
            default: trouble.side == side
            }
        }
    }

    /// A reason of the relay, whatever it is, never aborts a run of others.
    mutating func judgeAborts(_ side: WorldSide, _ run: WorldRun) {
        for asked in side.scripted?.asked ?? [] where asked.what == .abort && asked.prompt.hasPrefix("Foreign ") {
            violation("\(asked.prompt), which the bridge did not start, was aborted", run)
        }
    }

    /// The text without the notices that a level could not be set, or not as high. Such a notice is a paragraph of
    /// the answer, or a line of its last paragraph.
    static func withoutLevels(_ text: String) -> String {
        let beginnings = [
            "The thinking level “", "The agent's model cannot think at the level “", "The agent's own thinking level",
        ]
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        while let place = lines.firstIndex(where: { line in beginnings.contains { line.hasPrefix($0) } }) {
            lines.remove(at: place)
            guard place == lines.endIndex || lines[place].isEmpty else { continue }
            if place > 0, lines[place - 1].isEmpty {
                lines.remove(at: place - 1)
            } else if place == 0, !lines.isEmpty {
                lines.removeFirst()
            }
        }
        return lines.joined(separator: "\n")
    }
}
