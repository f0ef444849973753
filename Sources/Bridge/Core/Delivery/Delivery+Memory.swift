import Vocabulary

// Bytes that the lanes hold, and the cards that give way when they are too many.
extension Delivery {
    /// Bytes of all lanes.
    package var heldBytes: Int { held.lanes }

    /// Bytes of turns besides; the lanes' cards give way to them.
    var heldBeside: Int {
        get { held.beside }
        set { held.beside = newValue }
    }

    func isPending(_ call: CallID) -> Bool {
        lanes.indices.contains(call.slot) && lanes[call.slot].frozen?.call == call
    }

    mutating func count(_ slot: Int) {
        let bytes = lanes[slot].heldBytes
        held.lanes += bytes - lanes[slot].ledger.countedBytes
        lanes[slot].ledger.countedBytes = bytes
    }

    /// Above the bound the fullest lane gives way, until seven eighths are reached or nothing is left that may be cut.
    mutating func makeRoom(at now: Instant) {
        let bound = held.bound(of: settings.heldBytes)
        guard held.lanes > bound else { return }
        // The next post of a lane may be the one that was cut, whose place in the line it must not keep.
        var changed: Set<Int> = []
        defer { for slot in changed.sorted() { refile(slot, at: now) } }
        while held.lanes > bound / 8 * 7 {
            guard
                let fullest = held.cuttable.max(by: {
                    (lanes[$0].ledger.countedBytes, $0) < (lanes[$1].ledger.countedBytes, $1)
                })
            else {
                return
            }
            if lanes[fullest].cutOldest() {
                tally.payloadsCut += 1
                changed.insert(fullest)
                count(fullest)
            } else {
                held.cuttable.remove(fullest)
            }
        }
    }
}
