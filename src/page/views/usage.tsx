// Tokens and cost: of one session by turn, of all by session and day.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { App } from "../model/app.js";
import { Journal } from "../model/journal.js";
import type { OpenSession } from "../model/session.js";
import { count, Empty, money, useLoaded } from "../parts/basics.js";
import { byDay, type TurnUsage, turnsOf } from "./usage-sums.js";

const KINDS = ["prompt", "usage"];
/** Each is read from its journal. */
const SESSIONS = 40;

export function UsageOfSession({ app, session }: { readonly app: App; readonly session: OpenSession }) {
  const load = async () => {
    const journal = new Journal(session.id, app);
    await journal.read(KINDS);
    return turnsOf(journal.records.value);
  };
  const { value, problem } = useLoaded(load, app.rows.value.get(session.id)?.state);
  if (problem !== undefined)
    return (
      <Empty title="The journal cannot be read">
        <p>{problem}</p>
      </Empty>
    );
  if (!value) return null;
  if (value.length === 0) return <Empty title="No model was asked yet" />;
  return (
    <div class="scroller padded">
      <Totals turns={value} />
      <Chart labels={value.map((_, index) => index + 1)} series={value} by="turn" />
      <table class="numbers">
        <thead>
          <tr>
            <th>Turn</th>
            <th>In</th>
            <th>Out</th>
            <th>Cost</th>
          </tr>
        </thead>
        <tbody>
          {value.map(({ title, input, output, costUsd }) => (
            <tr>
              <td class="cut">{title}</td>
              <td>{count(input)}</td>
              <td>{count(output)}</td>
              <td>{money(costUsd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface SessionUsage {
  readonly id: string;
  readonly title: string;
  readonly turns: readonly TurnUsage[];
}

export function UsageOfAll({ app }: { readonly app: App }) {
  const load = async (): Promise<{ readonly sessions: readonly SessionUsage[]; readonly unread: number }> => {
    const newest = [...app.rows.value.values()].sort((a, b) => b.updatedAt - a.updatedAt).slice(0, SESSIONS);
    const sessions: SessionUsage[] = [];
    for (const { id, title } of newest) {
      const journal = new Journal(id, app);
      const isRead = await journal.read(KINDS).then(
        () => true,
        () => false,
      );
      if (isRead) sessions.push({ id, title, turns: turnsOf(journal.records.value) });
    }
    return { sessions, unread: newest.length - sessions.length };
  };
  const { value } = useLoaded(load, app.isListed.value);
  return (
    <section class="view" aria-label="Usage">
      <header class="view-head">
        <h1>Usage</h1>
        <span class="muted">of the {SESSIONS} sessions used last</span>
      </header>
      {value && value.unread > 0 && <p class="muted">{value.unread} of them could not be read and are not counted.</p>}
      {value && <AllUsage sessions={value.sessions} />}
    </section>
  );
}

function AllUsage({ sessions }: { readonly sessions: readonly SessionUsage[] }) {
  const turns = sessions.flatMap((session) => session.turns);
  const days = byDay(turns);
  if (days.length === 0) return <Empty title="No model was asked yet" />;
  return (
    <>
      <Totals turns={turns} />
      <Chart labels={days.map(({ t }) => t / 1_000)} series={days} by="day" />
      <table class="numbers">
        <thead>
          <tr>
            <th>Session</th>
            <th>Turns</th>
            <th>Tokens</th>
            <th>Cost</th>
          </tr>
        </thead>
        <tbody>
          {sessions
            .filter((session) => session.turns.length > 0)
            .map(({ id, title, turns: own }) => (
              <tr>
                <td class="cut">
                  <a href={`#/session/${encodeURIComponent(id)}/usage`}>{title || "Untitled session"}</a>
                </td>
                <td>{own.length}</td>
                <td>{count(sum(own, "input") + sum(own, "output"))}</td>
                <td>{money(sum(own, "costUsd"))}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </>
  );
}

function sum(turns: readonly TurnUsage[], field: "input" | "output" | "costUsd"): number {
  return turns.reduce((total, turn) => total + turn[field], 0);
}

function Totals({ turns }: { readonly turns: readonly TurnUsage[] }) {
  return (
    <dl class="facts card">
      <div>
        <dt>turns</dt>
        <dd>{turns.length}</dd>
      </div>
      <div>
        <dt>tokens in</dt>
        <dd>{count(sum(turns, "input"))}</dd>
      </div>
      <div>
        <dt>tokens out</dt>
        <dd>{count(sum(turns, "output"))}</dd>
      </div>
      <div>
        <dt>cost, by list prices</dt>
        <dd>{money(sum(turns, "costUsd"))}</dd>
      </div>
    </dl>
  );
}

const DAY_SECONDS = 86_400;
/** Steps of the axis: whole days, whole turns. */
const DAYS = [1, 2, 7, 14, 28, 91, 182, 364].map((days) => days * DAY_SECONDS);
const TURNS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
const LEAST = { day: 14, turn: 10 };

/** Few bars lie at the left of a usual width instead of filling it. */
function rangeOfX(labels: readonly number[], by: "turn" | "day"): [number, number] {
  const step = by === "day" ? DAY_SECONDS : 1;
  const [first = 0, last = first] = [labels[0], labels.at(-1)];
  const least = LEAST[by] * step;
  return by === "day"
    ? [Math.min(first, last - least) - step, last + step]
    : [first - step, Math.max(last, least) + step];
}

function Chart({
  labels,
  series,
  by,
}: {
  readonly labels: readonly number[];
  readonly series: readonly TurnUsage[];
  readonly by: "turn" | "day";
}) {
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const style = getComputedStyle(element);
    const color = (name: string) => style.getPropertyValue(name);
    const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
    const bars = uPlot.paths.bars?.({ size: [0.6, 40] });
    const line = (label: string, name: string) => ({
      label,
      fill: color(name),
      stroke: color(name),
      width: 0,
      points: { show: false },
      ...(bars && { paths: bars }),
    });
    const data = [[...labels], series.map(({ input, output }) => input + output), series.map(({ output }) => output)];
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height: 180,
        scales: {
          x: { time: by === "day", range: () => rangeOfX(labels, by) },
          y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] },
        },
        axes: [
          { ...axis, incrs: by === "day" ? DAYS : TURNS },
          { ...axis, size: 60, values: (_: unknown, ticks: number[]) => ticks.map(count) },
        ],
        series: [{ label: by }, line("tokens", "--model"), line("of them out", "--tool")],
        legend: { show: false },
        cursor: { show: false },
      },
      [data[0] ?? [], data[1] ?? [], data[2] ?? []],
      element,
    );
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: 180 }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [series]);
  return (
    <figure class="card chart">
      <div ref={frame} role="img" aria-label={`tokens by ${by}`} />
      <figcaption class="legend">
        <span>
          <span class="swatch model" /> tokens in
        </span>
        <span>
          <span class="swatch tool" /> tokens out
        </span>
      </figcaption>
    </figure>
  );
}
