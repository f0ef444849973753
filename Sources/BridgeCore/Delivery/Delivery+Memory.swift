import BridgeModel

// What the lanes hold in bytes, and what gives way when that is too much.
extension Delivery {
    func isPending(_ call: CallID) -> Bool {
        lanes.indices.contains(call.slot) && lanes[call.slot].frozen?.call == call
    }

    mutating func count(_ slot: Int) {
        let bytes = lanes[slot].heldBytes
        heldBytes += bytes - lanes[slot].ledger.countedBytes
        lanes[slot].ledger.countedBytes = bytes
    }

    /// Over the bound the fullest lane gives way, until seven eighths are reached or nothing is left that may be cut.
    mutating func makeRoom(at now: Instant) {
        #if PLANTED_FAULTS
            if PlantedFault.bytesUnbounded.isPlanted { return }
        #endif
        // Half of it is the lanes' own: else a long text would cut cards that the relay takes at once.
        let bound = max(settings.heldBytes / 2, settings.heldBytes - heldBeside)
        guard heldBytes > bound else { return }
        var slotsLeft = Set(slots.values)
        // What a lane sends next may be what was cut: it must not keep the place in line that the cut post had.
        var changed: Set<Int> = []
        defer { for slot in changed.sorted() { refile(slot, at: now) } }
        while heldBytes > bound / 8 * 7 {
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
