import AgentKit

/// What each work is for, and of which try to connect it is. Numbers are used once.
///
/// - The host takes so many works at once and refuses more: the others wait here, and begin in order.
/// - What is of use on its own link alone is dropped with it, and an answer that comes later is not given to the next one.
struct OppiErrands<Errand: Hashable> {
    struct Finished {
        var errand: Errand
        /// It was asked for on the link of now, so that it says something of its token.
        var isOfThisLink: Bool
    }

    private struct Open {
        var errand: Errand
        var link: Int
        /// Nil: the host has it.
        var work: Work?
        var isDropped = false
    }

    /// The host has room for these beside what it carries out already.
    private static var limit: Int { 64 }
    private var open: [WorkID: Open] = [:]
    private var waiting: [WorkID] = []
    private var count = 0
    private var link = 0

    /// `isOfOneLink`: of no use on the next.
    mutating func linkBegins(dropping isOfOneLink: (Errand) -> Bool) {
        link += 1
        for (id, entry) in open where isOfOneLink(entry.errand) {
            // One that the host has takes up its room until it is finished.
            if entry.work == nil { open[id]?.isDropped = true } else { open[id] = nil }
        }
        waiting.removeAll { open[$0] == nil }
    }

    mutating func add(_ errand: Errand, _ work: Work) {
        count += 1
        open[WorkID(count)] = Open(errand: errand, link: link, work: work)
        waiting.append(WorkID(count))
    }

    /// What may begin.
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

    /// Nil: it was dropped.
    mutating func finished(_ work: WorkID) -> Finished? {
        guard let entry = open.removeValue(forKey: work), !entry.isDropped else { return nil }
        return Finished(errand: entry.errand, isOfThisLink: entry.link == link)
    }
}
