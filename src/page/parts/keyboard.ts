// The keys of the page: moving in lists, searching, answering the question that is selected.

export const HELP: readonly (readonly [string, string])[] = [
  ["j / k", "next, previous"],
  ["Enter", "open"],
  ["/", "search"],
  ["a", "allow the selected question once"],
  ["d", "deny it"],
  ["?", "these keys"],
];

export function onKey(event: KeyboardEvent, help: () => void): void {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLElement && target.matches("input, textarea, select")) {
    if (key === "Escape") target.blur();
    return;
  }
  if (act(key, help)) event.preventDefault();
}

function act(key: string, help: () => void): boolean {
  switch (key) {
    case "j":
      return move(1);
    case "k":
      return move(-1);
    case "/":
      return focus(document.querySelector("[data-search]"));
    case "a":
      return answer("[data-allow]");
    case "d":
      return answer("[data-deny]");
    case "?":
      help();
      return true;
    default:
      return false;
  }
}

function rows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("[data-row]")];
}

function move(step: number): boolean {
  const all = rows();
  const at = all.findIndex((row) => row.contains(document.activeElement));
  return focus(all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))] ?? null);
}

function focus(element: Element | null): boolean {
  if (!(element instanceof HTMLElement)) return false;
  element.focus();
  element.scrollIntoView({ block: "nearest" });
  return true;
}

/** Only of the question that has the focus: the first press selects one, so that nobody answers what they have not seen. */
function answer(button: string): boolean {
  const questions = rows().filter((row) => row.dataset["question"] !== undefined);
  const selected = questions.find((row) => row.contains(document.activeElement));
  if (!selected) return focus(questions[0] ?? null);
  const found = selected.querySelector<HTMLButtonElement>(button);
  found?.click();
  return found !== null;
}
