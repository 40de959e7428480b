/** The pictures of a page, any of which may be a panel of a figure for a journal. */
import { createContext, use, useEffect, useId, useState, useSyncExternalStore, type ReactNode } from "react";

import { Button } from "../../../ui/Button";
import { Rich } from "../../../ui/Rich";
import { FigureBuilder } from "./FigureBuilder";

export interface Panel {
  about: string;
  /** The name of a file that holds this panel alone. */
  file: string;
  /** Wider than high: beside others it takes the room of two. */
  isWide?: boolean;
  /** Its SVG at a width in pixels; nothing while it is not loaded. */
  draw: (width: number) => ReactNode;
}

export interface People {
  people: number;
  cases: number | null;
  controls: number | null;
}

/** What is offered at the moment: some pictures come when their numbers are loaded. */
class Offers {
  readonly panels = new Map<string, Panel>();
  private readonly listeners = new Set<() => void>();
  private changes = 0;

  /** Replaces what was offered under the same key. */
  set(key: string, panel: Panel) {
    const isNew = !this.panels.has(key);
    this.panels.set(key, panel);
    if (isNew) this.tell();
  }

  delete(key: string) {
    if (this.panels.delete(key)) this.tell();
  }

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  readonly version = () => this.changes;

  private tell() {
    this.changes += 1;
    this.listeners.forEach((listener) => listener());
  }
}

interface Registry {
  offers: Offers;
  people?: People | undefined;
}

const Registered = createContext<Registry>({ offers: new Offers() });

/** Around the pictures of a page, and who is in them. */
export function Figures({ people, children }: { people?: People | undefined; children: ReactNode }) {
  const [offers] = useState(() => new Offers());
  return <Registered value={{ offers, people }}>{children}</Registered>;
}

/** Offers a panel to figures as long as the component that asks is there; returns its key. */
function usePanel(panel: Panel): string {
  const { offers } = use(Registered);
  const key = useId();
  useEffect(() => offers.set(key, panel));
  useEffect(() => () => offers.delete(key), [offers, key]);
  return key;
}

/** Offers a panel to figures that begin with another. */
export function Offered(panel: Panel) {
  usePanel(panel);
  return null;
}

/** Offers a panel, and makes figures that begin with it. */
export function MakeFigure(panel: Panel) {
  const { offers, people } = use(Registered);
  const key = usePanel(panel);
  const [isOpen, open] = useState(false);
  useSyncExternalStore(offers.subscribe, offers.version);
  return (
    <div data-screen>
      <Button onClick={() => open(true)}>
        <Rich text="Make a figure<unseen> with {{about}}</unseen>" values={{ about: panel.about }} />
      </Button>
      {isOpen && (
        <FigureBuilder panels={offers.panels} first={key} people={people} onClose={() => open(false)} />
      )}
    </div>
  );
}
