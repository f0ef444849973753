/// A heap of slots (small whole numbers), each in it once at most, under a key that may change. The least key is first.
struct SlotHeap<Key: Comparable> {
    private var entries: [(key: Key, slot: Int)] = []
    /// A slot's index in `entries`; -1 without one.
    private var places: [Int] = []

    var first: (key: Key, slot: Int)? { entries.first }

    var count: Int { entries.count }

    func contains(_ slot: Int) -> Bool { slot < places.count && places[slot] >= 0 }

    func key(of slot: Int) -> Key? { contains(slot) ? entries[places[slot]].key : nil }

    mutating func set(_ slot: Int, to key: Key) {
        while places.count <= slot { places.append(-1) }
        let place = places[slot]
        guard place >= 0 else {
            entries.append((key, slot))
            places[slot] = entries.count - 1
            rise(entries.count - 1)
            return
        }
        let before = entries[place].key
        guard before != key else { return }
        entries[place].key = key
        if key < before { rise(place) } else { sink(place) }
    }

    mutating func remove(_ slot: Int) {
        guard contains(slot) else { return }
        let place = places[slot]
        places[slot] = -1
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        places[last.slot] = place
        rise(place)
        sink(places[last.slot])
    }

    private mutating func rise(_ start: Int) {
        var place = start
        while place > 0 {
            let parent = (place - 1) / 2
            guard entries[place].key < entries[parent].key else { return }
            exchange(place, parent)
            place = parent
        }
    }

    private mutating func sink(_ start: Int) {
        var place = start
        while true {
            var least = place
            let left = 2 * place + 1
            let right = left + 1
            if left < entries.count && entries[left].key < entries[least].key { least = left }
            if right < entries.count && entries[right].key < entries[least].key { least = right }
            guard least != place else { return }
            exchange(place, least)
            place = least
        }
    }

    private mutating func exchange(_ one: Int, _ other: Int) {
        entries.swapAt(one, other)
        places[entries[one].slot] = one
        places[entries[other].slot] = other
    }
}

extension SlotHeap: Sendable where Key: Sendable {}
