// Addresses people are sent to: only web pages, spelled as they are really read, with what might deceive about them.

/** Undefined for anything but a web page: nothing else is ever shown as a link or opened. */
export function webPage(address: URL | string): URL | undefined {
  if (!URL.canParse(String(address))) return undefined;
  const url = new URL(String(address));
  return url.protocol === "https:" || url.protocol === "http:" ? url : undefined;
}

/** A sentence for each thing that is not as it may look. */
export function addressWarnings(url: URL): readonly string[] {
  const warnings: string[] = [];
  if (url.username !== "" || url.password !== "") {
    warnings.push(`What stands before the @ is not where it leads: the server is ${url.host}.`);
  }
  if (url.hostname.split(".").some((label) => label.startsWith("xn--"))) {
    warnings.push(`The name of the server has letters beyond a to z, which may look like others: it is ${url.host}.`);
  }
  if (url.protocol === "http:" && !/^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/u.test(url.hostname)) {
    warnings.push("It is not encrypted (http): others on the way can read and change it.");
  }
  return warnings;
}
