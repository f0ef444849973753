import Vocabulary

@testable import BridgeCore

// Faults of a turn, made from its events and orders.
extension Disorder {
    static func spoilt(_ event: RunEvent) -> RunEvent {
        if PlantedFault.snapshotAppended.isPlanted, case .text(.snapshot(let text)) = event {
            return .text(.append(text))
        }
        return event
    }

    static func spoilt(_ order: TurnOrder) -> [TurnOrder] {
        switch (PlantedFault.planted, order) {
        case (.taskFinishedTwice, .post(.taskEnded)), (.answeredTwice, .command(.answer)): [order, order]
        case (.statusAfterText, .post(.taskEnded(let end))): StatusTask.isOne(end.task) ? [] : [order]
        default: [order]
        }
    }
}
