import BridgeModel

// What the journal holds of turns is written by types of its own, with their keys written out, so that a machine can be laid
// redone without losing the records of an earlier version.
//
// - Version 2, the newest, is `StoredTurn` and what it consists of; it is the first that was released.
// - To keep another field of a machine, add to its stored form: an optional property, its key, and a line in `carry` with the
//   value that counts where the record has none (older records, and those where it is not worth writing).
// - A version that was released is never changed but in this way. For any other change copy the forms to a folder of their
//   own, give the new ones the next number in `RecordEnvelope`, and keep a journal of the old version
//   (`Tests/Fixtures/journal`).

/// The form in which the journal holds a value.
protocol StoredForm: Codable, Hashable, Sendable {
    associatedtype Value
    init(_ value: Value)
    var value: Value { get }
}

/// Which way a field goes between a machine and its stored form, so that both ways of a field are one line.
enum Carry {
    case storing, restoring

    func callAsFunction<Value>(_ live: inout Value, _ stored: inout Value) {
        switch self {
        case .storing: stored = live
        case .restoring: live = stored
        }
    }

    /// Not written where it is what `absent` says.
    func callAsFunction<Value: Equatable>(_ live: inout Value, _ stored: inout Value?, absent: @autoclosure () -> Value)
    {
        switch self {
        case .storing:
            let absent = absent()
            stored = live == absent ? nil : live
        case .restoring: live = stored ?? absent()
        }
    }

    func callAsFunction<Form: StoredForm>(_ live: inout Form.Value, as stored: inout Form) {
        switch self {
        case .storing: stored = Form(live)
        case .restoring: live = stored.value
        }
    }

    func callAsFunction<Form: StoredForm>(
        _ live: inout Form.Value, as stored: inout Form?, absent: @autoclosure () -> Form.Value
    ) where Form.Value: Equatable {
        switch self {
        case .storing:
            let absent = absent()
            stored = live == absent ? nil : Form(live)
        case .restoring: live = stored?.value ?? absent()
        }
    }

    func callAsFunction<Form: StoredForm>(_ live: inout Form.Value?, as stored: inout Form?) {
        switch self {
        case .storing: stored = live.map { Form($0) }
        case .restoring: live = stored?.value
        }
    }

    func callAsFunction<Form: StoredForm>(_ live: inout [Form.Value], as stored: inout [Form]?) {
        switch self {
        case .storing: stored = live.isEmpty ? nil : live.map { Form($0) }
        case .restoring: live = stored?.map(\.value) ?? []
        }
    }

    /// In some order that is always the same.
    func callAsFunction<Kind>(_ live: inout Set<Identifier<Kind>>, as stored: inout [Identifier<Kind>]?) {
        switch self {
        case .storing: stored = live.isEmpty ? nil : live.sorted()
        case .restoring: live = Set(stored ?? [])
        }
    }
}
