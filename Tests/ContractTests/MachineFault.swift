import AgentKit
import Vocabulary

/// Faults of any machine, planted around it.
enum MachineFault: CaseIterable {
    case forgetsPast, dropsEnds, decidesTwice, ignoresStops, ignoresDecisions, neverCloses, neverReturns
    case neverDone, announcesTwice, forgetsTools, forgetsQuestions, neverLooksUp, handsNothingBack
}

struct FaultyHost: AgentHost {
    let inner: any AgentHost
    let fault: MachineFault

    func carry<Machine: AgentMachine & ~Copyable>(
        _ machine: consuming sending Machine, settings: @escaping @Sendable () -> Machine.Settings?
    ) -> any AgentLink { inner.carry(Faulty(machine: machine, fault: fault), settings: settings) }
}

struct Faulty<Machine: AgentMachine & ~Copyable>: ~Copyable, AgentMachine {
    typealias Settings = Machine.Settings

    var machine: Machine
    let fault: MachineFault
    private var hasOpened = false

    init(machine: consuming Machine, fault: MachineFault) {
        self.machine = machine
        self.fault = fault
    }

    var nextDeadline: Instant? { machine.nextDeadline }
    var nextReadingDeadline: Instant? { machine.nextReadingDeadline }

    private mutating func spoil(_ orders: [AgentOrder]) -> [AgentOrder] {
        var spoilt: [AgentOrder] = []
        for order in orders {
            switch (fault, order) {
            case (.neverDone, .done): break
            case (.neverReturns, .open):
                if !hasOpened { spoilt.append(order) }
                hasOpened = true
            case (.announcesTwice, .state(.up)): spoilt += [order, order]
            case (_, .observed(let said)): spoilt.append(.observed(said.filter { !isDropped($0) }))
            default: spoilt.append(order)
            }
        }
        return spoilt
    }

    private func isDropped(_ observation: Observation) -> Bool {
        switch (fault, observation) {
        case (.neverLooksUp, .lookedUp), (.handsNothingBack, .sendAnswered(_, .neverLeft)): return true
        case (_, .signal(let signal)):
            switch (fault, signal.event) {
            case (.dropsEnds, .finished), (.forgetsTools, .tool), (.forgetsQuestions, .approvalRequested): return true
            default: return false
            }
        default: return false
        }
    }

    mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder] {
        spoil(machine.begin(fault == .forgetsPast ? AgentPast() : past, now))
    }
    mutating func check(_ now: Occasion) -> [AgentOrder] { spoil(machine.check(now)) }
    mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder] {
        switch (fault, command) {
        case (.ignoresStops, .abort), (.ignoresDecisions, .resolve): return []
        case (.decidesTwice, .resolve):
            let orders = spoil(machine.command(command, now))
            return orders + orders
        default: return spoil(machine.command(command, now))
        }
    }
    mutating func query(_ query: AgentQuery, as id: QueryID, _ now: Occasion) -> [AgentOrder] {
        spoil(machine.query(query, as: id, now))
    }
    mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
        into orders: inout [AgentOrder]
    ) {
        var fresh: [AgentOrder] = []
        machine.received(frame, capacity: capacity, on: channel, now, into: &fresh)
        orders += spoil(fresh)
    }
    mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder] {
        spoil(machine.happened(event, on: channel, now))
    }
    mutating func finished(_ work: WorkID, _ result: WorkResult, _ now: Occasion) -> [AgentOrder] {
        spoil(machine.finished(work, result, now))
    }
    mutating func timePassed(_ now: Occasion) -> [AgentOrder] { spoil(machine.timePassed(now)) }
    mutating func slept(_ now: Occasion) -> [AgentOrder] { spoil(machine.slept(now)) }
    mutating func use(_ settings: Settings, _ now: Occasion) -> [AgentOrder] { spoil(machine.use(settings, now)) }
    mutating func shutDown(_ now: Occasion) -> [AgentOrder] {
        fault == .neverCloses ? [] : spoil(machine.shutDown(now))
    }
}
