// Linear records histories of clients on a cluster that is hurt meanwhile, and
// has Porcupine check whether they are linearizable.
package main

import (
	"errors"
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
	options := Options{Shape: -1}
	flag.StringVar(&options.Top, "top", ".", "the source tree")
	flag.StringVar(&options.Program, "ersproxy", "", "the program")
	flag.StringVar(&options.Ctl, "ersctl", "", "the program")
	flag.StringVar(&options.Bug, "bug", "",
		"planted in the program, which must have been built with them; ends at "+
			"the first history that shows it, and fails if none does; or all "+
			"that can show")
	flag.Int64Var(&options.Seed, "seed", 1, "of the first history")
	flag.Float64Var(&options.Seconds, "seconds", 8, "of each history, at least")
	flag.IntVar(&options.Faults, "faults", 4, "in each history, at least")
	flag.IntVar(&options.Clients, "clients", 12, "at a time")
	flag.IntVar(&options.Proxies, "proxies", 1, "on the same servers")
	flag.StringVar(&options.Relay, "straggler", "",
		"tails-relay, for a server of which some replies are late")
	flag.IntVar(&options.Freezes, "freezes", 30,
		"of 100 servers that are hurt are frozen; the others are killed")
	histories := flag.Int("histories", 1, "how many, each with its own seed")
	folder := flag.String("keep", "",
		"where what is not linearizable is kept (default: a new folder)")
	flag.Parse()
	if flag.NArg() > 0 || options.Program == "" || *histories < 1 ||
		options.Ctl == "" || options.Proxies < 1 {
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
	runs := &runs{options: options, histories: *histories, work: work,
		kept: *folder, given: map[string]bool{}}
	flag.Visit(func(each *flag.Flag) { runs.given[each.Name] = true })
	if options.Bug != "" {
		return runs.catch(options.Bug)
	}
	return runs.all()
}

// Some histories, one after the other.
type runs struct {
	options   Options
	histories int
	work      string
	kept      string
	given     map[string]bool // flags
	total     sum
}

// Sum of all histories.
type sum struct {
	linear, beyond, wrong, undecided int
}

func (total sum) judged() int { return total.linear + total.wrong + total.undecided }

var errTooBusy = errors.New("this machine is too busy: servers that no fault " +
	"hurt are taken for dead")

// Records and checks the next history; the seeds are counted up. One that
// was beyond f is replaced by the next.
func (runs *runs) next() (wrong bool, err error) {
	for judged := runs.total.judged(); judged == runs.total.judged(); {
		if runs.total.beyond > 3+2*runs.histories {
			return false, errTooBusy
		}
		options := runs.options
		runs.options.Seed++
		options.Folder = filepath.Join(runs.work,
			fmt.Sprintf("%s%d", options.Bug, options.Seed))
		if err := os.Mkdir(options.Folder, 0o700); err != nil {
			return false, err
		}
		history, err := Record(options)
		if err != nil {
			if options.Bug == "" {
				keep(options, runs.kept)
			}
			return false, fmt.Errorf("seed %d: %w", options.Seed, err)
		}
		wrong = check(history, runs.kept, &runs.total)
		os.RemoveAll(options.Folder)
	}
	return wrong, nil
}

func (runs *runs) all() int {
	for runs.total.judged() < runs.histories {
		if _, err := runs.next(); err != nil {
			fmt.Println(err)
			if errors.Is(err, errTooBusy) {
				return 3
			}
			return 1
		}
	}
	fmt.Printf("%d histories linearizable, %d not, %d undecided; %d beyond f "+
		"were replaced\n", runs.total.linear, runs.total.wrong,
		runs.total.undecided, runs.total.beyond)
	if runs.total.linear < runs.histories {
		return 1
	}
	return 0
}

const (
	checkTimeout = 60 * time.Second
	// Of each of the some ten checks that search for the shortest.
	cutTimeout = 5 * time.Second
)

const linearizable = "linearizable"

// Prints what is to be known of a history; true if it is not linearizable, or
// left the servers as they should not be.
func check(history *History, kept string, total *sum) bool {
	began := time.Now()
	events, unknown, bad, late := 0, 0, []string{}, []string{}
	for key, of := range history.Keys {
		events += len(of)
		verdict := Check(of, checkTimeout)
		switch verdict.Result {
		case porcupine.Illegal:
			bad = append(bad, key+": "+verdict.Why)
			// What a planted bug has done need not be read.
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
	if history.Left != nil {
		bad = append(bad, history.Left.Error())
	}
	for what, count := range history.Counts {
		if strings.HasSuffix(what, "unknown") {
			unknown += count
		}
	}
	setup := history.Setup
	result := linearizable
	switch {
	case history.BeyondF != nil:
		result = fmt.Sprintf("not judged: out together were %v", history.BeyondF)
		total.beyond++
	case len(bad) > 0:
		result = "WRONG: " + strings.Join(bad, "; ")
		total.wrong++
	case len(late) > 0:
		result = fmt.Sprintf("undecided: %v took too long", late)
		total.undecided++
	default:
		total.linear++
	}
	fmt.Printf("seed %d: %s, %d servers, f=%d, %s of %d threads, %d keys: %d "+
		"answers, %d of them unknown; %s; checked in %.1f s: %s\n",
		history.Options.Seed, setup.Scheme, setup.Servers, setup.MaxFailures,
		number(history.Options.Proxies, "proxy", "proxies"), history.Threads, len(history.Keys), events, unknown, history.Faults,
		time.Since(began).Seconds(), result)
	if result == linearizable && history.Options.Bug == "" {
		fmt.Printf("  in the end: %v\n", history.Remains)
	}
	if len(history.Refused) > 0 {
		fmt.Printf("  refused: %s\n", mostOf(history.Refused))
	}
	wrong := len(bad) > 0 && history.BeyondF == nil
	if wrong && history.Options.Bug == "" {
		keep(history.Options, kept)
	}
	return wrong
}

func number(count int, one, more string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, more)
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

// Keeps the log of the proxies beside what explain has written.
func keep(options Options, kept string) {
	if err := os.MkdirAll(kept, 0o700); err != nil {
		fmt.Fprintln(os.Stderr, "linear:", err)
		return
	}
	log, err := os.ReadFile(filepath.Join(options.Folder, cluster.LogName))
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
			float64(event.Ended.Microseconds())/1000, event.Client,
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
