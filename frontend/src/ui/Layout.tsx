/** How pages are laid out: one title, sections, stacks of things and rows of buttons. */
import { useEffect, useRef, type ReactNode } from "react";
import { Link, useLocation } from "react-router";

import { Flagged } from "./Flagged";
import styles from "./Layout.module.css";

interface Title {
  children: string;
  /** What stands beside it: a badge, buttons. */
  beside?: ReactNode;
}

/** The page's one heading. It names the window, and takes the focus when the reader comes to another page. */
export function PageTitle({ children, beside }: Title) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { pathname } = useLocation();
  useEffect(() => {
    document.title = `${children} · Unpooled`;
  }, [children]);
  useEffect(() => {
    if (hasMovedTo(pathname)) heading.current?.focus();
  }, [pathname]);
  return (
    <div className={styles.title}>
      <h1 ref={heading} tabIndex={-1}>
        {children}
      </h1>
      {beside}
    </div>
  );
}

let lastPath = "";

/** Whether the reader came here from another page of the application. */
function hasMovedTo(path: string): boolean {
  const moved = lastPath !== "" && lastPath !== path;
  lastPath = path;
  return moved;
}

/** A part of a page with its heading. */
export function Section({
  title,
  to,
  beside,
  children,
}: {
  title: string;
  /** Where the heading leads, if anywhere. */
  to?: string | undefined;
  beside?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className={styles.section}>
      <div className={styles.title}>
        <h2>{to ? <Link to={to}>{title}</Link> : title}</h2>
        {beside}
      </div>
      {children}
    </section>
  );
}

/** A section on a surface of its own. */
export function Card({ children }: { children: ReactNode }) {
  return <div className={styles.card}>{children}</div>;
}

/** Things below one another. */
export function Stack({ children }: { children: ReactNode }) {
  return <div className={styles.stack}>{children}</div>;
}

/** Things below one another, no wider than lines that read well: forms and texts. */
export function Narrow({ children }: { children: ReactNode }) {
  return <div className={styles.narrow}>{children}</div>;
}

/** Things beside one another, as many as fit. */
export function Row({ children }: { children: ReactNode }) {
  return <div className={styles.row}>{children}</div>;
}

/** Fields beside one another where there is room. */
export function Columns({ children }: { children: ReactNode }) {
  return <div className={styles.columns}>{children}</div>;
}

interface FactsProps {
  facts: readonly (readonly [string, ReactNode])[];
  /** They are long: fewer beside one another. */
  wide?: boolean;
}

/** Names and what they stand for. */
export function Facts({ facts, wide = false }: FactsProps) {
  return (
    <dl className={wide ? `${styles.facts} ${styles.wide}` : styles.facts}>
      {facts.map(([name, value], index) => (
        <div key={`${name} ${index}`}>
          <dt>
            <Flagged label={name} />
          </dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** For those who hear the page: what the others see from where it stands. */
export function Unseen({ children }: { children: ReactNode }) {
  return <span className="visually-hidden">{children}</span>;
}

/** A second line, below what it is about. */
export function Small({ children }: { children: ReactNode }) {
  return <p className={styles.small}>{children}</p>;
}

export function Muted({ children }: { children: ReactNode }) {
  return <p className={styles.muted}>{children}</p>;
}
