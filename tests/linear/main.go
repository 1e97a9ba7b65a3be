// Linear records histories of clients on a cluster that is hurt meanwhile, and
// has Porcupine check whether they are linearizable.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"linear/cluster"
)

func main() {
	os.Exit(run())
}

func run() int {
	options := Options{}
	flag.StringVar(&options.Top, "top", ".", "the source tree")
	flag.StringVar(&options.Program, "ersproxy", "", "the program")
	flag.StringVar(&options.Bug, "bug", "",
		"planted in the program, which must have been built with them; "+
			"ends at the first history that shows it, and fails if none does")
	flag.Int64Var(&options.Seed, "seed", 1, "of the first history")
	flag.Float64Var(&options.Seconds, "seconds", 8, "of each history, at least")
	flag.IntVar(&options.Faults, "faults", 4, "in each history, at least")
	flag.IntVar(&options.Clients, "clients", 12, "at a time")
	histories := flag.Int("histories", 1, "how many, each with its own seed")
	folder := flag.String("keep", "",
		"where what is not linearizable is kept (default: a new folder)")
	flag.Parse()
	if flag.NArg() > 0 || options.Program == "" || *histories < 1 {
		flag.Usage()
		return 2
	}
	work, err := os.MkdirTemp("", "ers-linear-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "linear:", err)
		return 3
	}
	defer os.RemoveAll(work)
	if *folder == "" {
		*folder = work + "-kept"
	}
	options.Stop = cluster.StopOnSignal()
	return runAll(options, *histories, work, *folder)
}

// Sum of all histories.
type sum struct {
	linear, beyond, wrong, undecided int
}

func runAll(options Options, histories int, work, kept string) int {
	total := sum{}
	first := options.Seed
	for i := 0; i < histories; i++ {
		options.Seed = first + int64(i)
		options.Folder = filepath.Join(work, fmt.Sprint(options.Seed))
		if err := os.Mkdir(options.Folder, 0o700); err != nil {
			fmt.Fprintln(os.Stderr, "linear:", err)
			return 3
		}
		history, err := Record(options)
		if err != nil {
			fmt.Printf("seed %d: %v\n", options.Seed, err)
			keep(options, kept)
			return 1
		}
		wrong := judge(history, kept, &total)
		if options.Bug != "" && wrong {
			fmt.Printf("%s: caught by history %d\n", options.Bug, i+1)
			return 0
		}
		os.RemoveAll(options.Folder)
	}
	fmt.Printf("%d histories linearizable, %d not, %d undecided, "+
		"%d beyond M and not judged\n", total.linear, total.wrong,
		total.undecided, total.beyond)
	if options.Bug != "" {
		fmt.Printf("%s: not caught in %d histories\n", options.Bug, histories)
		return 1
	}
	if total.wrong+total.undecided > 0 || total.linear*2 < histories {
		return 1
	}
	return 0
}

const (
	checkTimeout = 60 * time.Second
	// Of each of the some ten checks that look for the shortest.
	cutTimeout = 5 * time.Second
)

// Prints what is to be known of a history; true if it is not linearizable.
func judge(history *History, kept string, total *sum) bool {
	began := time.Now()
	events, unknown, bad, late := 0, 0, []string{}, []string{}
	for key, of := range history.Keys {
		events += len(of)
		verdict := Check(of, checkTimeout)
		switch verdict.Result {
		case porcupine.Illegal:
			bad = append(bad, key+": "+verdict.Why)
			// Nobody has to look at what a planted bug has done.
			if history.Options.Bug == "" {
				explain(history, key, kept)
			}
		case porcupine.Unknown:
			late = append(late, key)
		}
	}
	if len(history.Silent) > 0 {
		bad = append(bad, fmt.Sprintf("cannot be read though all servers are "+
			"full: %v", history.Silent))
	}
	for what, count := range history.Counts {
		if strings.HasSuffix(what, "unknown") {
			unknown += count
		}
	}
	setup := history.Setup
	result := "linearizable"
	switch {
	case history.BeyondM != nil:
		result = fmt.Sprintf("not judged: out together were %v", history.BeyondM)
		total.beyond++
	case len(bad) > 0:
		result = "NOT LINEARIZABLE: " + strings.Join(bad, "; ")
		total.wrong++
	case len(late) > 0:
		result = fmt.Sprintf("undecided: %v took too long", late)
		total.undecided++
	default:
		total.linear++
	}
	fmt.Printf("seed %d: %s, %d servers, M=%d, %d threads, %d keys: %d "+
		"answers, %d of them unknown; %s; checked in %.1f s: %s\n",
		history.Options.Seed, setup.Scheme, setup.Servers, setup.M,
		history.Threads, len(history.Keys), events, unknown, history.Faults,
		time.Since(began).Seconds(), result)
	if len(history.Refused) > 0 {
		fmt.Printf("  refused: %s\n", mostOf(history.Refused))
	}
	wrong := len(bad) > 0 && history.BeyondM == nil
	if wrong && history.Options.Bug == "" {
		keep(history.Options, kept)
	}
	return wrong
}

func mostOf(counts map[string]int) string {
	words := []string{}
	for text, count := range counts {
		words = append(words, fmt.Sprintf("%d times %q", count, text))
	}
	sort.Strings(words)
	if len(words) > 5 {
		words = append(words[:5], fmt.Sprintf("and %d others", len(words)-5))
	}
	return strings.Join(words, "; ")
}

// Keeps the log of the proxy beside what explain has written.
func keep(options Options, kept string) {
	if err := os.MkdirAll(kept, 0o700); err != nil {
		fmt.Fprintln(os.Stderr, "linear:", err)
		return
	}
	log, err := os.ReadFile(filepath.Join(options.Folder, "proxy.log"))
	if err == nil {
		os.WriteFile(filepath.Join(kept, fmt.Sprintf("%d.log", options.Seed)),
			log, 0o600)
	}
	fmt.Printf("  kept in %s\n", kept)
}

// Writes the events of a key up to where no order is left, and Porcupine's
// picture of them.
func explain(history *History, key, kept string) {
	if err := os.MkdirAll(kept, 0o700); err != nil {
		return
	}
	shortest := Shortest(history.Keys[key], cutTimeout)
	sort.Slice(shortest, func(i, j int) bool {
		return shortest[i].Sent < shortest[j].Sent
	})
	path := filepath.Join(kept, fmt.Sprintf("%d-%s", history.Options.Seed, key))
	out, err := os.Create(path + ".txt")
	if err != nil {
		return
	}
	defer out.Close()
	for _, event := range shortest {
		fmt.Fprintf(out, "%10.3f %10.3f ms client %d: %v %+v: %v %s %d %s\n",
			float64(event.Sent.Microseconds())/1000,
			float64(event.Settled.Microseconds())/1000, event.Client,
			event.Call.Verb, event.Call, event.Answer.Kind, event.Answer.Value,
			event.Answer.Token, event.Answer.Text)
	}
	tokens, err := TokensOf(shortest)
	if err != nil {
		fmt.Fprintln(out, err)
		return
	}
	operations, _ := tokens.operations(shortest, true)
	_, info := porcupine.CheckOperationsVerbose(tokens.model(), operations,
		cutTimeout)
	porcupine.VisualizePath(tokens.model(), info, path+".html")
}
