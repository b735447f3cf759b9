// A waterfall: one row for each span, by turn, with arguments and results below the row that is opened.
import { useSignal } from "@preact/signals";
import { duration, Json, Pages } from "../parts/basics.js";
import { placeOf, rangeOf, type Span, type SpanGroup } from "./spans.js";

const SHOWN_GROUPS = 20;

export function Waterfall({ groups, nowMs }: { readonly groups: readonly SpanGroup[]; readonly nowMs: number }) {
  const shown = useSignal(SHOWN_GROUPS);
  const hidden = Math.max(0, groups.length - shown.value);
  return (
    <div class="waterfall">
      <Legend />
      {hidden > 0 && (
        <button type="button" class="small earlier" onClick={() => (shown.value += SHOWN_GROUPS)}>
          Show earlier ({hidden})
        </button>
      )}
      {groups.slice(hidden).map((group) => (
        <GroupView key={group.startMs} group={group} nowMs={nowMs} />
      ))}
    </div>
  );
}

const KINDS: readonly (readonly [Span["kind"], string])[] = [
  ["model", "model call"],
  ["tool", "tool call"],
  ["question", "question"],
  ["server", "server"],
];

function Legend() {
  return (
    <p class="legend" aria-hidden="true">
      {KINDS.map(([kind, label]) => (
        <span>
          <span class={`swatch ${kind}`} /> {label}
        </span>
      ))}
    </p>
  );
}

const TICKS = [0, 250, 500, 750];

function GroupView({ group, nowMs }: { readonly group: SpanGroup; readonly nowMs: number }) {
  const range = rangeOf(group, nowMs);
  const whole = range.endMs - range.startMs;
  return (
    <section class="card group" aria-label={group.title}>
      <header class="group-head">
        <span class="group-title">{group.title || "Start"}</span>
        {group.note !== undefined && <span class="muted">{group.note}</span>}
        {group.startMs > 0 && <time class="muted">{new Date(group.startMs).toLocaleString()}</time>}
        <strong>{duration(whole)}</strong>
      </header>
      <div class="span-row axis" aria-hidden="true">
        <span />
        <span class="ticks">
          {TICKS.map((tick) => (
            <span>{duration((whole * tick) / 1_000)}</span>
          ))}
        </span>
        <span />
      </div>
      {group.spans.map((span) => (
        <SpanRow key={span.id} span={span} range={range} />
      ))}
    </section>
  );
}

function SpanRow({
  span,
  range,
}: {
  readonly span: Span;
  readonly range: { readonly startMs: number; readonly endMs: number };
}) {
  const isOpen = useSignal(false);
  const { x, width } = placeOf(span, range);
  const { kind, label, status, startMs, endMs, note } = span;
  return (
    <>
      <button
        type="button"
        class="span-row"
        data-row
        aria-expanded={isOpen.value}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <span class="span-label">
          <span class={`swatch ${kind}`} aria-hidden="true" /> {label}
        </span>
        <svg class="span-track" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
          <rect class={`bar ${kind} ${status}`} x={x} y="1" width={width} height="8" />
        </svg>
        <span class="span-time">{endMs === undefined ? status : duration(endMs - startMs)}</span>
      </button>
      {isOpen.value && (
        <div class="span-detail">
          <p class="muted">
            {status}
            {note === undefined ? "" : ` · ${note}`} · {new Date(startMs).toLocaleTimeString()} +
            {duration(startMs - range.startMs)}
          </p>
          {span.input !== undefined && (
            <>
              <p class="label">Arguments</p>
              <Json value={span.input} label="arguments" />
            </>
          )}
          {span.output !== undefined && span.output !== "" && (
            <>
              <p class="label">Result</p>
              <Pages text={span.output} label="result" />
            </>
          )}
        </div>
      )}
    </>
  );
}
