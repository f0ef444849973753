import Vocabulary

// What the lanes hold in bytes, and what gives way when that is too much.
extension Delivery {
    /// What all lanes hold.
    package var heldBytes: Int { held.lanes }

    /// What turns hold besides; the lanes' cards give way to it.
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

    /// Over the bound the fullest lane gives way, until seven eighths are reached or nothing is left that may be cut.
    mutating func makeRoom(at now: Instant) {
        let bound = held.bound(of: settings.heldBytes)
        guard held.lanes > bound else { return }
        var slotsLeft = slots.taken
        // What a lane sends next may be what was cut: it must not keep the place in line that the cut post had.
        var changed: Set<Int> = []
        defer { for slot in changed.sorted() { refile(slot, at: now) } }
        while held.lanes > bound / 8 * 7 {
            guard
                let fullest = slotsLeft.max(by: {
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
                slotsLeft.remove(fullest)
            }
        }
    }
}
