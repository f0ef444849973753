/// Stored fields of a value by place, in an order that never changes.
struct StoredFields: Equatable {
    private(set) var leaves: [String: String] = [:]

    /// `leavingOut` lists endings of places to ignore.
    init(_ value: Any, leavingOut: [String] = []) {
        add(value, at: "", leavingOut)
    }

    private mutating func add(_ value: Any, at place: String, _ leavingOut: [String]) {
        guard !leavingOut.contains(where: { place.hasSuffix($0) }) else { return }
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .set:
            leaves[place] = mirror.children.map { "\($0.value)" }.sorted().joined(separator: ", ")
        case .dictionary:
            for child in mirror.children {
                let pair = Mirror(reflecting: child.value).children.map(\.value)
                if pair.count == 2 { add(pair[1], at: "\(place)[\(pair[0])]", leavingOut) }
            }
        case .collection:
            for (index, child) in mirror.children.enumerated() {
                add(child.value, at: "\(place)[\(index)]", leavingOut)
            }
        case .optional:
            guard let child = mirror.children.first else {
                leaves[place] = "nil"
                return
            }
            add(child.value, at: place, leavingOut)
        case .struct where !(value is any CustomStringConvertible) && !mirror.children.isEmpty:
            for child in mirror.children { add(child.value, at: "\(place).\(child.label ?? "?")", leavingOut) }
        case .enum where !mirror.children.isEmpty:
            for child in mirror.children { add(child.value, at: "\(place).\(child.label ?? "?")", leavingOut) }
        default: leaves[place] = "\(value)"
        }
    }

    /// Places at which two values differ.
    func differences(from other: StoredFields) -> [String] {
        Set(leaves.keys).union(other.leaves.keys).filter { leaves[$0] != other.leaves[$0] }.sorted().map {
            "\($0): \(leaves[$0] ?? "nothing") and not \(other.leaves[$0] ?? "nothing")"
        }
    }

    /// Stored properties that are equal in both values.
    static func unchanged<Value>(_ one: Value, _ other: Value) -> [String] {
        zip(Mirror(reflecting: one).children, Mirror(reflecting: other).children).filter { left, right in
            StoredFields(left.value) == StoredFields(right.value)
        }.map { $0.0.label ?? "?" }
    }
}
