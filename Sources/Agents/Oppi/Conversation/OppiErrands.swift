import AgentKit

/// The purpose of each work, and the connection attempt that it belongs to. Numbers are used once.
///
/// - The host accepts a limited number of works at once and refuses more: the others wait here and begin in order.
/// - Work for one link is dropped with that link, and its late result does not reach the next.
struct OppiErrands<Errand: Hashable> {
    struct Finished {
        var errand: Errand
        /// The errand belongs to the current link, so its answer applies to the current token.
        var isOfThisLink: Bool
    }

    private struct Open {
        var errand: Errand
        var link: Int
        /// The work, or nil if the host has it.
        var work: Work?
        var isDropped = false
    }

    /// The host has room for these beside its other works.
    private static var limit: Int { 64 }
    private var open: [WorkID: Open] = [:]
    private var waiting: [WorkID] = []
    private var count = 0
    private var link = 0

    /// `isOfOneLink`: of no use on the next link.
    mutating func linkBegins(dropping isOfOneLink: (Errand) -> Bool) {
        link += 1
        for (id, entry) in open where isOfOneLink(entry.errand) {
            // A work that the host has occupies a place until it finishes.
            if entry.work == nil { open[id]?.isDropped = true } else { open[id] = nil }
        }
        waiting.removeAll { open[$0] == nil }
    }

    mutating func add(_ errand: Errand, _ work: Work) {
        count += 1
        open[WorkID(count)] = Open(errand: errand, link: link, work: work)
        waiting.append(WorkID(count))
    }

    /// Takes the works that may begin.
    mutating func takeStarts() -> [(id: WorkID, work: Work)] {
        var starts: [(id: WorkID, work: Work)] = []
        while open.count - waiting.count < Self.limit, !waiting.isEmpty {
            let id = waiting.removeFirst()
            guard let work = open[id]?.work else { continue }
            open[id]?.work = nil
            starts.append((id, work))
        }
        return starts
    }

    /// Nil if the errand was dropped.
    mutating func finished(_ work: WorkID) -> Finished? {
        guard let entry = open.removeValue(forKey: work), !entry.isDropped else { return nil }
        return Finished(errand: entry.errand, isOfThisLink: entry.link == link)
    }
}
